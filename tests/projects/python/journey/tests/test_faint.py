import lamp


def test_ac_1_faint_is_dark():
    assert not lamp.shines(0.05)
