import lamp


def test_faint_is_dark():
    assert lamp.shines(5)
