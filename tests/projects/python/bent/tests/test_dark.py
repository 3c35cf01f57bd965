import lamp


def test_is_dark():
    assert lamp.shines(0)
