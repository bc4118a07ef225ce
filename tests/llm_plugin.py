"""Fixture `server`: a scripted server, one a test module, fresh for each test."""

import pytest
from fake_llm import FakeServer


@pytest.fixture(scope="module")
def fake():
    server = FakeServer()
    yield server
    server.stop()


@pytest.fixture
def server(fake):
    return fake.reset()
