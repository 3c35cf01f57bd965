import lamp


def test_faint_is_dark():
    assert not lamp.shines(0.05)


def test_is_dimmed():
    assert lamp.dimmed(4) == 2
