"""Environment variables for a while (helpers/environment.py)."""

import os

import pytest

from helpers.environment import changed


def test_what_was_there_is_there_again_after_an_error(monkeypatch):
    monkeypatch.setenv("KIT_KEPT", "old")
    monkeypatch.setenv("KIT_GONE", "here")
    monkeypatch.delenv("KIT_NEW", raising=False)
    with pytest.raises(KeyError):
        with changed({"KIT_KEPT": "new", "KIT_GONE": None, "KIT_NEW": "1"}):
            assert os.environ["KIT_KEPT"] == "new" and os.environ["KIT_NEW"] == "1"
            assert "KIT_GONE" not in os.environ
            raise KeyError
    assert os.environ["KIT_KEPT"] == "old" and os.environ["KIT_GONE"] == "here"
    assert "KIT_NEW" not in os.environ
