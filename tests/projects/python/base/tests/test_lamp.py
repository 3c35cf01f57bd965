import lamp


def test_shines():
    assert lamp.shines(1)
