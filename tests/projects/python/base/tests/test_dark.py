import lamp


def test_is_dark():
    assert not lamp.shines(0)
