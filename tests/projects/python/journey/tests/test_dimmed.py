import lamp


def test_ac_2_half_of_it():
    assert lamp.dimmed(4) == 2
