"""The cue lists of the free-text reader: which words point to which act.

Each entry is a regular expression on a lower-case sentence with plain apostrophes. The
order within an act does not matter. Built on the dev styles of
`data/labelled/acts.csv`; nothing was changed for the held-out style.
"""

BE = r"(?:'re|are|'ve been|have been|were|seem|sound|look|feel)"
YOU = r"\byou(?:'re|'ve|r)?\b"
SOFT = r"(?:so |very |really |quite |truly |just |a bit |kinda |super |pretty |all )*"

# Feelings in the words of the slots, with their neighbours.
EMOTION_WORDS = {
    "sad": r"sad(?:ness|dened)?|sorrow\w*|heart ?broken|unhappy|grie(?:f|ving)|down",
    "angry": r"angry|anger|mad|furious|rage|fuming|resent\w*|pissed(?: off)?",
    "anxious": r"anxi\w+|worr(?:y|ied|ies)|nervous\w*|afraid|scared|frighten\w+|fear\w*"
    r"|on edge|panick\w*",
    "ashamed": r"asham\w+|shame|embarrass\w+|humiliat\w+",
    "guilty": r"guilt(?:y)?|remorse\w*",
    "exhausted": r"exhaust\w+|drained|tired|worn out|burn(?:t|ed) out|weary|fatigued",
    "lonely": r"lonel\w+|alone|isolated|left alone",
    "jealous": r"jealous\w*|env(?:y|ious)",
}

# What was done to the person; "they ... you" and "you got ..." frames are both read.
EVENT_WORDS = {
    "ignored": r"ignor\w+|overlooked|brushed (?:you )?off"
    r"|not (?:even )?answer(?:ed)? you",
    "blamed": r"blam(?:ed|ing)|(?:got|get) the blame|pinned (?:it|this"
    r"|that)(?: all)? on"
    r"|put the blame|point\w* (?:the|a) finger",
    "excluded": r"exclud\w+|left (?:you )?out|shut (?:you )?out|without you"
    r"|not invite[d]?",
    "compared": r"compar(?:ed|ing|e)|measured against",
    "replaced": r"replac\w+|someone else (?:got|took)|took your (?:place|job|seat)",
    "deceived": r"deceiv\w+|lied to|tricked|cheated|betray\w+|misled",
    "rejected": r"reject\w+|turned (?:you )?down|said no to|refused you",
    "mocked": r"mock\w+|made fun of|laughed at|ridicul\w+|teas(?:ed|ing)",
    "abandoned": r"abandon\w+|left you|walked out|deserted",
    "pressured": r"pressur\w+|pushed (?:you )?into|forced|pushed you",
    "criticised": r"critici[sz]\w+|tore (?:it|you) apart|picked (?:it|you) apart",
    "forgotten": r"forg[eo]t(?:ten)?|slipped their mind",
}

VALUE_WORDS = {
    "courage": r"courage\w*|brave\w*|guts|bold(?:ness)?",
    "honesty": r"honest\w*|truth\w*|sincer\w+|frank\w*",
    "patience": r"patien\w+|waited so long|stayed calm",
    "loyalty": r"loyal\w*|stuck by|stood by|stayed by|faithful\w*",
    "kindness": r"kind(?:ness|ly)?|generous\w*|generosity|caring|nice of you",
    "effort": r"effort\w*|worked (?:so |really |very )?hard|tried (?:so|really"
    r"|very) hard"
    r"|hard work|persist\w+",
}

ACTION_WORDS = {
    "call": r"call|phone|ring",
    "write": r"writ(?:e|ing)|journal|note(?:book)?|letter|diary",
    "rest": r"rest|sleep|nap|break|day off|days off|lie down",
    "walk": r"walk\w*|stroll|fresh air",
    "plan": r"plan\w*|schedule",
    "ask": r"ask",
}

QUESTION = (
    r"^(?:so |and |but |wait |omg |er |um |well |then |ok(?:ay)? )*"
    r"(?:what|how|when|who|where|why)\b(?!.* (?:learn|differently|different next"
    r"|your (?:own )?(?:part|share|behaviou?r)))(?! (?:about|don't you|not)\b).*\?",
    r"\btell me\b(?! to)",
    r"(?:can|could|would|will|do) you (?:like to |want to |care to )?"
    r"(?:tell|say|talk|share|describe|explain|walk me)\b",
    r"^(?:and )?then what",
    r"what(?:'s| is| was| has been) the (?:hard|worst|most difficult|toughest)",
    r"what (?:happened|did (?:you|they|he|she))\b.*\?|what's going on",
    r"how (?:did|do|are|were|have) (?:you|they|he|she)\b.*\?",
)

VALIDATE = (
    r"mak(?:es|e|ing) (?:\w+ )?sense|^(?:yeah )?makes (?:total |complete "
    r"|perfect )?sense",
    r"understandabl\w+|i (?:can )?(?:totally |fully |completely )?understand why",
    r"\b(?:any(?:one|body)|every(?:one|body)|most|many|lots of)\b[\w ]* (?:would|'d|"
    r"might|could)",
    r"no wonder|small wonder|not surpris\w+",
    r"(?:natural|normal|fair|valid|reasonable|human) (?:response|reaction|to|enough|"
    r"that|feeling)|(?:is|are|'s) (?:completely |totally |perfectly )?(?:valid|normal"
    r"|natural|okay to|ok to|fair enough)",
    r"(?:it's|it is|that's) (?:ok|okay|all right|alright|fine) (?:to|that you)",
    r"of course (?:you|it|that)\b|i'd (?:be|feel)\b.* too|i would (?:be|feel)\b.* too",
    r"(?:every|the|a) right to (?:feel|be)|rightly so|who wouldn't",
    r"not (?:saying |like )?(?:that )?you(?:'re| are) (?:being )?(?:overreacting"
    r"|dramatic"
    r"|silly|too sensitive)|not (?:think )?(?:that )?(?:is )?silly|isn't silly",
)

PRESENCE = (
    r"\bi(?:'m| am) (?:right |still |always )?(?:here|around|with you|near"
    r"|by your side)"
    r"|\bi(?:'ll| will|'m going to) (?:just |always )?(?:be here|stay|sit|listen)",
    r"\bi(?:'m| am)? ?(?:can |am )?listen(?:ing)?\b|all ears|here (?:to listen"
    r"|for you)",
    r"\bi got you\b|i've got you|i have got you|got your back",
    r"not alone in|n(?:'t|ot) have to (?:go|face|do|carry|get)\b.*(?:alone|yourself)"
    r"|not going anywhere",
    r"(?:take|have|all) (?:all )?(?:your|the) time|as long as you (?:need|like|want)",
    r"you can (?:always )?(?:talk|text|write|call|lean)(?: to| on)? ?me|text me"
    r"|call me (?:any|when)|my door is",
)

DISCLOSE = (
    r"happened to me|me too\b|for me too|did (?:exactly )?that to me",
    r"i(?:'ve| have) been (?:there|through)|i went through|i (?:also "
    r"|too )?had (?:that|"
    r"the same|it)|i had the same",
    r"\bi (?:once|also|too)\b|when i (?:got|was|lost|failed|had)|when my \w+ \w+",
    r"\bi remember (?:\w+ing|when|my)|reminds me of|i know how it (?:is|feels)",
    r"my (?:own )?(?:ex|dog|mother|father|sister|brother|boss|friend|husband|wife) "
    r"(?:did|had|was|left)|in my own\b",
    r"i felt (?:that|the same|like that)",
)

FLATTER = (
    rf"{YOU} ?(?:are|is)? ?(?:just |so |such |truly |really |literally |simply )*"
    r"(?:an? )?(?:the )?(?:amazing|awesome|incredible|wonderful|great|the best|best|"
    r"perfect|exceptional|remarkable|fantastic|special|smart|clever|beautiful|pretty|"
    r"brilliant|extraordinary|superstar|star|genius|hero|angel|real genius)",
    r"you rock|queen\b|i love you so much",
)

NO_FAULT = (
    r"n(?:'t|ot) (?:at all )?(?:be )?your (?:own )?fault|n(?:'t|ot) on you\b"
    r"|never your fault|(?:think|believe|say) (?:that )?it was your fault",
    r"n(?:'t|ot) (?:the one )?to blame|(?:don't|do not|stop|never) blam\w+ yourself",
    r"(?:didn't|did not|haven't|have not) (?:do|done) anything wrong"
    r"|did(?:n't)? nothing wrong|you did nothing wrong",
    r"nothing (?:that )?you could have|could(?:n't| not) have (?:done|known|prevented"
    r"|stopped)|n(?:'t|ot) because of you|not say (?:that )?you should have",
)

SIDES = (
    r"(?:two|both|many|more than one|different|either) (?:sides?|perspectives?|"
    r"points? of view|views|ways)",
    r"on (?:the )?one hand|on the other(?: hand| side)?|pros and cons|for and against",
    r"both of you|this side and|get both|each of you has|weigh\b",
)

OTHERS = (
    r"(?:he|she|they|him|her|your (?:\w+ )?(?:manager|boss|mother|mum|mom|father|dad|"
    r"sister|brother|friend|parents|colleague|supervisor|partner|ex))"
)
MOTIVES = (
    rf"(?:maybe|perhaps|probably|possibl[ey]|could be|it (?:may|might|could) be|"
    rf"(?:is|it's) possible)\b.*\b{OTHERS}\b",
    rf"{OTHERS}(?:'s|'re)? (?:\w+ )?(?:may|might|could|probably|were probably|must"
    rf"|is probably) (?:have |be |did )?(?:\w+ )?",
    rf"{OTHERS}'s probably|(?:his|her|their) (?:\w+ )?(?:behaviou?r|reaction|own "
    r"(?:fear|insecurity|pain))",
)

SELF_LOOK = (
    r"your (?:own )?(?:part|share|role)\b|part (?:did|was|do) (?:you|yours)",
    r"(?:learn|learned|learnt|take away) from (?:it|this|that)|what (?:could|can|did)"
    r" you learn",
    r"do (?:it )?different(?:ly)?|your own behaviou?r|you (?:may |might )?have "
    r"contributed|how (?:might|did) you(?:r)? .*contribut",
    r"(?:did|do) you (?:maybe |think you )?(?:did |do )?something (?:wrong|to)|about "
    r"what you did|look at yourself",
)

ADVISE = (
    r"\byou (?:could|might|may|can) (?:also |just |always |try "
    r"|want )?(?:to )?(?!have\b"
    r"|be\b|talk to me|feel|do differently|learn)\w+",
    r"\b(?:i(?:'d| would)? (?:suggest|recommend|advise|encourage)|my advice|how about"
    r"|what"
    r" about|why (?:don't|not)|have you tried|have you thought of|it (?:may|might"
    r"|could) "
    r"help to|let's|it helps|would do you good)\b",
    r"^(?!take your time)(?:maybe |just |please |perhaps )*(?:try|go|get|take|drink"
    r"|ask|call|walk|phone|write|talk to|make|see|join|eat|sleep|rest|plan|book"
    r"|speak to)\b(?! over)",
    r"you should (?:just |maybe |really |try |probably )*(?:to )?(?:call|write|rest"
    r"|walk|"
    r"plan|ask|sleep|talk|see|get (?:some|help)|go|take|try|speak|phone|tell)\b",
)

LECTURE = (
    r"\byou (?:should|must|need to|have to|ought to|gotta|had better)(?: really| just)?"
    r" (?:not |stop |learn |be |know |control |grow |get over|toughen|take responsib|"
    r"accept|respect|try harder|man up)",
    r"\b(?:grow up|man up|toughen up|get over (?:it|yourself)|get a grip|pull yourself"
    r"|snap out|suck it up)\b",
    r"stop (?:whining|complaining|crying|feeling sorry|being so|moaning)|you shouldn't",
)

PLATITUDE = (
    r"(?:will|'ll|gonna|going to|always|it all|it'll all) (?:all "
    r"|always )?(?:be (?:fine|ok|okay|"
    r"all right|alright|good)|work out|get better|come right|turn out)",
    r"time (?:will )?heals?|time is the best|everything happens for"
    r"|happens for a reason",
    r"silver lining|light at the end|bright side|(?:stay|be|think) positive|good vibes",
    r"it gets better|things (?:will )?get better|fish in the sea|tomorrow is another"
    r"|meant to be|keep smiling|chin up|what doesn't kill",
)

DISMISS = (
    r"(?:no|not (?:such )?a|not that) (?:big |huge )?(?:deal|thing|serious|deep|bad)\b"
    r"|n(?:'t|ot) (?:think (?:that )?(?:this|it) is )?(?:as|so|that) (?:serious|bad|"
    r"deep|terrible)|no big deal|it's nothing",
    r"(?:could|might) be worse|ha(?:ve|d) it worse|(?:far|much|had it) worse"
    r"|at least (?:no|you"
    r"|it|nobody)",
    r"calm down|never ?mind|move on|let it go|forget (?:about )?it|get on with"
    r"|leave it "
    r"(?:behind|at that)|chill out|relax\b",
    r"overreact\w*|over ?think\w*|think too much|too (?:dramatic|emotional)\b"
    r"|drama queen",
    r"\banyway\b,? (?:did|have|how|what)|change the (?:subject|topic)"
    r"|another (?:topic|subject)",
    r"^oh sure\b|what a tragedy|^wow,? poor you",
)

CUES = {
    "question": QUESTION, "validate": VALIDATE, "presence": PRESENCE,
    "disclose": DISCLOSE, "flatter": FLATTER, "no_fault": NO_FAULT, "sides": SIDES,
    "motives": MOTIVES, "self_look": SELF_LOOK, "advise": ADVISE, "lecture": LECTURE,
    "platitude": PLATITUDE, "dismiss": DISMISS,
}  # fmt: skip
