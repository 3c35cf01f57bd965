from dimmer import dim


def test_one_step():
    """AC-1: dimming from level 3 gives level 2."""
    assert dim(3) == 2


def test_dark():
    """AC-2: dimming from level 0 stays at level 0."""
    assert dim(0) == 0
