"""The slot words of the free-text reader, and its rewriting of spoken forms.

Each entry maps a slot id of `helpers.data.slots` to a regular expression: the word of
the slot with its neighbours in a thesaurus. `plain` writes contractions and spoken
forms out ("you'd've", "gonna"), so that the cues need one form only.
"""

import re

EMOTION_WORDS = {
    "sad": r"sad(?:ness|dened|der)?|sorrow\w*|heart ?(?:broken|sick|ache)|unhapp\w+"
    r"|broken[- ]hearted|grie(?:f|v\w+)|miser(?:y|able)|gloomy|tearful|in tears|bereft"
    r"|melancholy|devastated|hopeless|despair\w*|despondent|dejected|disappoint\w+"
    r"|depress\w+|low in spirits|low spirits|hurt|let down|pain|empty|mourn\w*"
    r"|heavy[- ]hearted|heavy heart|crushed|(?:feel|feeling|felt|seem|look|looking"
    r"|sound|so|really|pretty|very|quite|rather|bit|little|gets you|got you"
    r"|bring you) (?:down|low|blue)",
    "angry": r"angr(?:y|ier|ily)|anger\w*|mad|furious\w*|fury|rag(?:e|ing)|fuming"
    r"|livid|resent\w*|outrag\w+|irritat\w+|annoy\w+|frustrat\w+|bitter(?:ness)?"
    r"|indignan\w+|enraged|infuriat\w+|boil(?:s|ing)?|seething|fed up|exasperat\w+"
    r"|pissed(?: off)?|(?:be|are|feel|so|very|really|quite|rather|bit|little) cross",
    "anxious": r"anxi\w+|worr(?:y|ied|ies|ying)|nerv(?:es|ous\w*)|afraid|scar(?:ed|y)"
    r"|frighten\w*|fright|fear\w*|on edge|panic\w*|terrif\w+|terror|apprehensi\w+"
    r"|uneas[ye]\w*|tense|stress\w*|dread\w*|restless|jittery|alarmed|overwhelm\w+",
    "ashamed": r"asham\w+|(?<!a )shame|embarrass\w+|humiliat\w+|mortif\w+|disgraced?"
    r"|self[- ]conscious|ground (?:would|could|to) swallow you",
    "guilty": r"guilt\w*|remorse\w*|regret\w*|feel(?:ing)? responsible|bad conscience",
    "exhausted": r"exhaust\w+|drain(?:ed|ing)|tired(?:ness)?|tiring|wear(?:y|iness)"
    r"|worn[- ](?:out|down)|burn(?:t|ed)[- ]?out|burnout|fatigue\w*|knackered"
    r"|shattered|wiped out|dead on your feet|ready to drop|no strength|depleted"
    r"|running on empty|no (?:energy|strength) left|(?:the )?end of your (?:rope"
    r"|tether)|run down|out of (?:energy|strength|steam)",
    "lonely": r"lonel\w+|lonesome|alone|isolat\w+|(?:all )?on your own|cut off"
    r"|long for company|miss(?:ing)? company|(?:nobody|no one) to talk to",
    "jealous": r"jealous\w*|env(?:y|ies|ied|ious|ying)|begrudge?\w*",
}

# What was done to the person; "they ... you" and "you got ..." frames are both read.
EVENT_WORDS = {
    "ignored": r"ignor\w+|overlook(?:ed|ing)|brush\w+ you (?:off|aside)|unheard"
    r"|snubbed|(?:no|any) (?:notice|attention|heed)(?: (?:of|to) you)?|blanked you"
    r"|unanswered|as if you were not|as though you were not|ghosted you"
    r"|left (?:you )?(?:on read|hanging|waiting|unanswered)|cold shoulder"
    r"|silent treatment|look\w* (?:right |straight )?through you|(?:talked|spoke) over"
    r"|(?:did not|never|nobody|no one|not even|without) (?:even )?(?:answer\w*|repl\w+"
    r"|respond\w*|listen\w*|acknowledg\w+|hear you|heard you|(?:called|wrote) back)"
    r"|as if you (?:were not there|were air|did not exist)|(?:were|made) invisible",
    "blamed": r"blam(?:e[ds]?|ing) (?:it |this |that |everything |all )?(?:on )?you"
    r"|blam(?:ed|ing)|(?:got|get|took) the (?:blame|fall)|scapegoat\w*|carry the can"
    r"|fingers? (?:\w+ )?pointed at|accus(?:ed|ing)|(?:pin|put|push|dump"
    r"|heap)\w* (?:\w+ ){1,4}on you|(?:put|laid) the blame|(?:held|made"
    r"|hold) you responsible|(?:said|told you) (?:that )?it was your fault"
    r"|point\w* (?:the|a) finger",
    "excluded": r"exclud\w+|(?:left|leav\w+) (?:you )?out|(?:shut|cut|kept"
    r"|lock\w+) you out|without you|without (?:telling|inviting|asking|including) you"
    r"|uninvited|not (?:even )?(?:invited?|included?|welcome)|(?:not"
    r"|never) (?:even )?(?:asked?|told|invited) you(?: to| along|$)|except you",
    "compared": r"compar\w+|measur\w+ (?:you )?(?:up )?against|more like your"
    r"|measured? up to|h[eo]ld\w* (?:you )?up (?:against|to|beside|next)"
    r"|stack\w* you up",
    "replaced": r"replac\w+|(?:someone|somebody) else (?:got|took|in|has|instead)"
    r"|(?:took|taken|take|gave|given) (?:over )?your (?:place|job|seat|role|spot|part"
    r"|position|desk|stead)|(?:swap|trad|switch)\w+ you|instead of you"
    r"|another \w+ (?:in your|for your)|you were out",
    "deceived": r"deceiv\w+|(?:lied|lying|lie) to|told you lies|trick\w+|cheat\w+"
    r"|betray\w+|mis(?:led|lead\w*)|fooled|conned|duped|scammed|double[- ]crossed"
    r"|(?:kept|hid|hidden|hiding) (?:it|this|that|things|the truth) from you"
    r"|broke (?:his|her|their) (?:word|promises?)|behind your back|led you on"
    r"|taken in by|took you in|one thing and did another|strung you along|stabbed you",
    "rejected": r"reject\w+|turn\w+ (?:you |your \w+ )?down(?: flat)?|said no|refus\w+"
    r"|declin(?:ed|ing)|(?:did not|would not) (?:want|take|choose|pick|accept) you"
    r"|not (?:chosen|accepted|picked|selected)|pushed you away|thrown out|threw (?:it"
    r"|you) out|not want you|sent you away",
    "mocked": r"mock\w+|ma(?:de|king|kes?) (?:such )?(?:fun|a fool|a joke|jokes)"
    r"|laugh(?:ed|ing)? (?:at|about)|laughing stock|ridicul(?:ed|ing)|teas(?:ed|ing)"
    r"|jok\w+ about you|sneer\w+|snigger\w*|giggl\w+|smirk\w*|jeer\w+|pok\w+ fun"
    r"|took the (?:mickey|piss)",
    "abandoned": r"abandon\w+|left you(?! (?:out|on read|hanging|waiting|unanswered))"
    r"|walk\w+ (?:out|away)|desert(?:ed|ing)|let you down|ran (?:off|away)|ditched you"
    r"|stood you up|dumped you|turned (?:his|her|their) backs? on|bailed on you"
    r"|nowhere to be (?:seen|found)|packed (?:his|her|their) bags|was gone|were gone"
    r"|broke up with you|(?:was|were) not there (?:for|when)|disappeared"
    r"|left on your own",
    "pressured": r"pressur\w+|push(?:ed|ing|es)? you(?! (?:away|aside|out))|forc(?:ed"
    r"|ing)|coerc\w+|nag(?:ged|ging)|(?:talk|bull|push|rush)\w* you into|rush(?:ed"
    r"|ing) you|twist\w+ your arm|would not (?:let up|take no)|insist(?:ed|ing)"
    r"|not leave you (?:in peace|alone)|no choice|demand(?:ed|ing)",
    "criticised": r"critici[sz]\w+|t(?:ore|orn|earing) .{0,30}(?:apart|to pieces"
    r"|to shreds)|pick\w+ .{0,30}apart|f(?:ound|inding) fault|(?:put|putting|ran"
    r"|run) you down|nitpick\w*|told you off|scold\w+|(?:never"
    r"|nothing) .{0,30}good enough|(?:yell|shout|snap)\w+ at you|had a go at you"
    r"|(?:slat|trash|slamm)ed (?:you|your)|nothing you do|dressing[- ]down"
    r"|complain\w+ about (?:you|your)|judg(?:ed|ing) you",
    "forgotten": r"forg[eo]t(?:ten|s)?(?! (?:it|about it)\b)|slipped (?:their|his"
    r"|her) mind|(?:not|nobody|no one|never) (?:even )?(?:remember\w*|thought of)",
}  # fmt: skip

VALUE_WORDS = {
    "courage": r"courage\w*|brave\w*|guts|gutsy|bold(?:ness|ly)?|dar(?:ed|ing)"
    r"|fearless|flinch|took (?:some |real |a lot of )?nerve|you stood up (?:to|for)",
    "honesty": r"(?<!to be )(?<!if you are )honest(?:y)?|(?:spoke|said|talked"
    r"|answered) (?:\w+ )?(?:honest|frank|open)ly|truth(?:ful)?|sincer\w+"
    r"|(?<!if you are )frank(?:ness)?|candid\w*|integrity|came clean|upright"
    r"|straightforward|owned up|straight answer|you (?:were|are) (?:so )?open",
    "patience": r"(?<!best )(?<!the )(?<!a )patient\w*|patience|waited so long"
    r"|forbearance|(?:stayed|kept|remained) (?:so )?calm|held your tongue"
    r"|kept your cool|(?:never|not) los[et] your temper|kept your temper",
    "loyalty": r"loyal\w*|(?:stuck|stood|stayed|kept) (?:by|with|beside) (?!me\b"
    r"|you\b)\w+|faithful\w*|devot\w+|steadfast\w*|not turn your back|you (?:never"
    r"|did not) (?:left|leave|abandon\w*)|you (?:were|have been"
    r"|are) (?:always )?there for (?!me)\w+|true friend",
    "kindness": r"kind(?:ness|ly|[- ]hearted)?(?! of(?! you)| to yourself)|generous\w*"
    r"|generosity|caring|(?:nice|sweet|good|decent) of you|sweet that you"
    r"|thoughtful\w*|considerate|compassion\w*|gentle(?:ness)?(?! (?:to"
    r"|with) yourself)|big heart|warm heart|good heart|out of your way"
    r"|you (?:looked after|took care of|helped)|selfless\w*|unselfish\w*"
    r"|warm[- ]?hearted",
    "effort": r"efforts?|(?:work|tr|stud|practis|train|f[io]ught)\w* (?:\w+ ){0,2}hard"
    r"|hard work\w*|persist\w+|persever\w+|diligen\w+|dedicat\w+|determin(?:ed|ation)"
    r"|put (?:in )?(?:\w+ ){0,4}(?:work|time|hours|heart|energy)|(?:gave|did|given"
    r"|done|tried) (?:it )?(?:your (?:very )?best|your all|everything)|your back into"
    r"|spared no|kept (?:going|at it|trying|working)|(?:never|not) (?:g[ai]ve up"
    r"|stopp?e?d? trying)",
}  # fmt: skip

ACTION_WORDS = {
    "call": r"call(?:ing)?|phon(?:e|ing)|ring(?:ing)?|dial|telephon(?:e|ing)"
    r"|in touch with",
    "write": r"writ(?:e|ing)|journal\w*|note(?:s|book)?|letter|diary|jot\w*|(?:on"
    r"|to) paper",
    "rest": r"(?<!the )rest(?:ing)?|sleep\w*|nap|break(?! up)|days? off|time off"
    r"|lie down|to bed|day for yourself|feet up|take it easy|slow down|early night"
    r"|unwind|lie[- ]in|pause",
    "walk": r"walk(?:ing|s)?|stroll|fresh air|go (?:outside|outdoors)|hike",
    "plan": r"plan\w*|schedul\w+|timetable|map out|step by step|work out|to-do list"
    r"|calendar",
    "ask": r"ask(?:ing)?|turn to|reach(?:ing)? out|(?:get|accept|seek) (?:some )?help",
}

_SPOKEN = (
    (r",? (?:you know|you see|i mean)(?=,| \?$|$)|^(?:i mean|you know|you see),? ", ""),
    # Tag questions ("..., aren't you?") ask for nothing.
    (r",? (?:is|are|was|were|do|does|did|have|has|had|can|could|would|will|must)n't "
     r"(?:you|it|he|she|they|that|there|we|i)(?: \?)?$", ""),
    (r"\bcan't\b|\bcannot\b", "can not"), (r"\bwon't\b", "will not"),
    (r"\bshan't\b", "shall not"), (r"\bain't\b", "is not"), (r"n't\b", " not"),
    (r"\blet's\b", "let us"), (r"'re\b", " are"), (r"'ve\b", " have"),
    (r"'ll\b", " will"), (r"\bi'm\b", "i am"), (r"'d\b", " would"),
    (r"\b(it|that|this|there|here|what|who|how|where|he|she|everything|nobody)'s\b",
     r"\1 is"),
    (r"\bgonna\b", "going to"), (r"\bwanna\b", "want to"), (r"\bgotta\b", "have to"),
    (r"\bkinda\b", "kind of"), (r"\bsorta\b", "sort of"), (r"\bu\b", "you"),
    (r"\bur\b(?= \w+(?:ed|ing)\b)", "you are"), (r"\bur\b", "your"),
    (r"\b(?:cos|cuz|coz|'cause)\b", "because"), (r"\bdunno\b", "do not know"),
    (r"\b(could|would|should|might|must)a\b", r"\1 have"), (r"\bshall\b", "will"),
    (r"\b(did|do|does|could|should|would|is|are|was|were|have|has)nt\b", r"\1 not"),
)  # fmt: skip
_SPOKEN_RULES = tuple((re.compile(pattern), new) for pattern, new in _SPOKEN)


def plain(sentence: str) -> str:
    """The sentence (in normal form) with contractions and spoken forms written out."""
    for pattern, new in _SPOKEN_RULES:
        sentence = pattern.sub(new, sentence)
    return sentence
