"""The fidelity audit: what EMPA's paper, README and code state, and what its logs show.

The statements stand in `data/published/empa_claims.csv` in the kit's own words. Each id
there is the name of a function in `empa_sources` or `empa_claims` that computes what
the released records say about it, and the verdict. A statement that the numeric records
cannot test says so.
"""

import pandas as pd

from helpers.data.published import load
from helpers.reporting import empa_claims, empa_sources
from helpers.reporting.empa_evidence import Evidence


def audit(e: Evidence) -> pd.DataFrame:
    """All statements and findings: part, item, where, stated, found, verdict."""
    claims = load("empa_claims")
    findings = {**vars(empa_sources), **vars(empa_claims)}
    answers = [findings[name](e) for name in claims["id"]]
    claims["found"] = [found for found, _ in answers]
    claims["verdict"] = [verdict for _, verdict in answers]
    return claims.drop(columns="id")
