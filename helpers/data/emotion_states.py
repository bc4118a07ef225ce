"""SAGE's five states of the emotion scale.

Paper: SAGE (arXiv 2505.02847) appendix G; RLVER (arXiv 2507.03112) appendix E.1.
"""

STATES = (("S", 100), ("A", 70), ("B", 40), ("C", 10))


def state(emotion: int) -> str:
    """State letter of an emotion value: S >= 100, A 70.., B 40.., C 10.., F < 10."""
    for letter, least in STATES:
        if emotion >= least:
            return letter
    return "F"
