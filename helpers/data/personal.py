"""Find personal data in a dialogue with Presidio, and put a placeholder in its place.

The library's own recognisers find e-mail addresses, phone numbers, bank accounts,
cards, network addresses and number plates. No language model is loaded (the pipeline
is a blank spaCy one), so names, street addresses, employers and free forms of ids need
rules, which are registered with the library as recognisers: the display names of the
two speakers, the first names that Faker lists for its locales, and patterns.

What this misses, by construction: a third person's name in lower case that no rule
introduces ("ask corinne", unless she was met before); a place or employer in lower
case; a nickname of two letters; what only the story gives away. It removes more than it
must: any capitalised word inside a sentence is taken for a name.

Library: presidio-analyzer. Paper: EMPA (arXiv 2603.00552) Algorithm 1, stage 1: drop
what is sensitive, no personal data in what is kept.
"""

import re
from dataclasses import dataclass
from functools import cache

import tldextract
from presidio_analyzer import (
    AnalyzerEngine,
    Pattern,
    PatternRecognizer,
    RecognizerRegistry,
)
from presidio_analyzer.nlp_engine import SpacyNlpEngine
from presidio_analyzer.predefined_recognizers import (
    CreditCardRecognizer,
    EmailRecognizer,
    IbanRecognizer,
    IpRecognizer,
    PhoneRecognizer,
    UkVehicleRegistrationRecognizer,
)
from spacy import blank

from helpers.data.names import known_names, name_pattern
from helpers.data.raw import RawDialogue

LANGUAGES = ("en", "zh")
KINDS = ("name", "phone", "email", "address", "employer", "id")
ENTITY_KIND = {
    "PERSON": "name",
    "PHONE_NUMBER": "phone",
    "EMAIL_ADDRESS": "email",
    "ADDRESS": "address",
    "EMPLOYER": "employer",
    "ID": "id",
    "IBAN_CODE": "id",
    "CREDIT_CARD": "id",
    "IP_ADDRESS": "id",
    "UK_VEHICLE_REGISTRATION": "id",
}
REGIONS = ("US", "GB", "DE", "AT", "CH", "FR", "NL", "PT", "ES", "IT", "CN", "IN")
# The public suffix list that ships with the package; it never asks the network.
_OFFLINE = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)

_STREET = (
    "lane|street|st|road|rd|close|court|terrace|parade|row|avenue|ave|drive|square"
    "|way|place|crescent|hill|mews|walk|grove|gardens|steps|quay|boulevard|blvd"
)
_ROAD_WORD = (
    "allee|stra(?:ss|ß)e|str\\.|weg|gasse|platz|hof|gata|gate|gade|straat|laan|vej"
)
_WORDS = r"(?:[A-Z][\w'-]+ +){1,3}"
_UNIT = r"(?:flat|apt|apartment|unit|loft|suite|room|door|floor|garage)"
_TAIL = rf"(?:,? +(?:{_UNIT} *\w{{1,3}}|\d+(?:st|nd|rd|th) floor))?"
_CODE = r"[A-Z0-9]*\d[A-Z0-9]*"
# Words after which a code of letters and digits is somebody's number.
_ID_CUE = (
    r"(?:\b(?:number|no|nr|code|badge|plate|account|policy|passport|licen[cs]e|staff"
    r"|file|iban|id|ref|reference|participant|portal|registered under)\b"
    r"|学号|身份证号?|社保号|案号|工号|卡号|编号|护照)"
)
PATTERNS = {
    "en": {
        "ADDRESS": (
            r"(?i)\b\d{1,4}[a-z]? +(?!or |and |then )(?:[\w'.-]+ +){1,3}"
            rf"(?:{_STREET})\b{_TAIL}",
            rf"(?i)\b(?:[\w-]+ +)?\w*(?:{_ROAD_WORD}) +\d{{1,4}}[a-z]?\b{_TAIL}",
            rf"\b{_WORDS}(?i:{_STREET})\b{_TAIL}",  # without a number
            r"\b(?!January|March|April|August|October|[A-Z]\w+day|Helper)"
            r"[A-Z][a-zà-ÿ]{4,} \d{1,3}\b",
            rf"(?:\b\w+ +\w+, +)?\b(?i:{_UNIT}) +\w{{1,3}}, +(?:[A-Z][\w'-]+ ?){{1,3}}",
            rf"\b{_WORDS}?[A-Z][\w'-]+, +\d{{1,4}} +(?:[A-Z][\w'-]+ ?)+",
        ),
        "EMPLOYER": (
            r"(?<=\bwork at )[\w&' .-]{3,30}?(?=[,.;!?]|$| and | since | for | now )",
            r"(?<=\bwork for )[A-Z][\w&' .-]{3,30}?(?=[,.;!?]|$)",
            rf"\b{_WORDS}(?:Ltd|GmbH|Inc|LLC|AG)\b",
        ),
    },
    "zh": {
        "ADDRESS": (
            r"(?:[\u4e00-\u9fff]{2,6}(?:省|市|区|县))*[\u4e00-\u9fff]{1,6}"
            r"(?:路|街|大道|巷|弄|小区|新村|花园|苑)\d+(?:号|幢|栋)"
            r"(?:\d+(?:号楼|号|栋|幢|单元|室|楼|层)?)*",
        ),
        "EMPLOYER": (
            r"(?:(?<=在)|(?<=单位)|(?<=公司))[\u4e00-\u9fff]{2,8}?"
            r"(?:公司|科技|集团|设计院|研究院|医院|银行|事务所|大学|中学|学校|工厂)",
        ),
    },
}
# Not \b: a Chinese character before a code counts as a letter there.
_ON, _OFF = r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])"
ID_PATTERNS = (
    rf"(?i){_ID_CUE}[^\w\n]{{0,3}}(?:is |是|:)? *\W?{_CODE}(?:[ /-]{_CODE})*",
    rf"{_ON}[A-Za-z]{{1,6}}[-/]?\d[\dA-Za-z]*(?:[-/][\dA-Za-z]+)+{_OFF}",  # KV-883-20
    rf"{_ON}[A-Za-z]{{1,6}}[-/]\d{{3,}}[\dA-Za-z]*{_OFF}",  # TM-40417
    rf"{_ON}[A-Z]{{2,6}} +\d[\dA-Z]*(?:[ /-][\dA-Z]+)+{_OFF}",  # BG 7731 9042 A
    rf"{_ON}[A-Z]{{1,3}}\d{{5,}}[A-Z]?{_OFF}",  # P7740921K
    rf"{_ON}[A-Z]{{1,3}}[ -]?\d{{1,4}}[ -]?[A-Z]{{1,3}}{_OFF}",  # a number plate
    r"(?<!\d)\d(?:[ /-]?\d){4,}(?!\d)",  # a long number, of whatever kind
    r"[(（]\d{4}[)）][\u4e00-\u9fff]{1,3}\d+号",  # a court file
)


@dataclass(frozen=True, order=True)
class Span:
    """Personal data in one turn: characters start to end, without the end."""

    turn: int
    start: int
    end: int
    kind: str


class _Blank(SpacyNlpEngine):
    """Presidio's engine on blank spaCy pipelines: tokens only, nothing to download."""

    def __init__(self):
        super().__init__(
            models=[{"lang_code": x, "model_name": f"blank_{x}"} for x in LANGUAGES]
        )
        self.nlp = {language: blank(language) for language in LANGUAGES}


class _Email(EmailRecognizer):
    """The library's recogniser with the bundled suffix list."""

    def validate_result(self, pattern_text: str) -> bool:
        return _OFFLINE(pattern_text).fqdn != ""


def _patterned(entity: str, language: str, patterns, score=0.6) -> PatternRecognizer:
    return PatternRecognizer(
        supported_entity=entity,
        supported_language=language,
        patterns=[Pattern(f"{entity} {i}", p, score) for i, p in enumerate(patterns)],
        global_regex_flags=re.MULTILINE,
    )


@cache
def _engine(own_rules: bool) -> AnalyzerEngine:
    """One analyser for both languages; the first call takes some seconds."""
    registry = RecognizerRegistry(supported_languages=list(LANGUAGES))
    for language in LANGUAGES:
        registry.add_recognizer(_Email(supported_language=language))
        registry.add_recognizer(
            PhoneRecognizer(
                supported_language=language, supported_regions=REGIONS, leniency=0
            )
        )
        for recogniser in (
            CreditCardRecognizer,
            IbanRecognizer,
            IpRecognizer,
            UkVehicleRegistrationRecognizer,
        ):
            registry.add_recognizer(recogniser(supported_language=language))
        if not own_rules:
            continue
        registry.add_recognizer(_patterned("ID", language, ID_PATTERNS))
        for entity, patterns in PATTERNS[language].items():
            registry.add_recognizer(_patterned(entity, language, patterns))
    return AnalyzerEngine(
        registry=registry,
        nlp_engine=_Blank(),
        supported_languages=list(LANGUAGES),
    )


def find_personal(dialogue: RawDialogue, own_rules: bool = True) -> list[Span]:
    """All spans of personal data, merged where they touch each other's characters.

    Who was named once is found in every turn, in any case.

    own_rules: False leaves only what the library brings, to show what it misses.
    """
    engine, language = _engine(own_rules), dialogue.language
    texts = [turn.text for turn in dialogue.turns]
    people = dialogue.participants
    names = known_names(texts, (people.seeker, people.helper), language)
    by_name = []
    if names and own_rules:
        by_name = [_patterned("PERSON", language, [name_pattern(names, language)])]
    spans = []
    for turn, text in enumerate(texts):
        if not text.strip():
            continue
        found = engine.analyze(text, language, ad_hoc_recognizers=by_name or None)
        spans += _merged(turn, [r for r in found if not _too_short(r, text)])
    return spans


def _order(result) -> tuple[int, int, bool]:
    return result.start, -result.end, result.entity_type != "PHONE_NUMBER"


def _too_short(result, text: str) -> bool:
    """A lenient search takes any number for a telephone; seven digits make one."""
    digits = sum(c.isdigit() for c in text[result.start : result.end])
    return result.entity_type == "PHONE_NUMBER" and digits < 7


def _merged(turn: int, found) -> list[Span]:
    """Overlapping results become one span; the longest gives its kind, a telephone
    before others of its length."""
    merged: list[Span] = []
    longest = 0
    for result in sorted(found, key=_order):
        kind = ENTITY_KIND[result.entity_type]
        length = result.end - result.start
        if merged and result.start < merged[-1].end:
            last = merged.pop()
            kind = kind if length > longest else last.kind
            longest = max(longest, length)
            merged.append(Span(turn, last.start, max(last.end, result.end), kind))
        else:
            longest = length
            merged.append(Span(turn, result.start, result.end, kind))
    return merged


def redact(text: str, spans: list[Span]) -> str:
    """The text of one turn with a placeholder such as [NAME] for each span."""
    for span in sorted(spans, reverse=True):
        text = f"{text[: span.start]}[{span.kind.upper()}]{text[span.end :]}"
    return text
