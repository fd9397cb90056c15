"""Words that turn a statement: negators, change, addition, doubt, opposites; general ones of each language.

No table here is fitted to any test: each holds what its kind of word is in the language, as a grammar or a
dictionary of antonyms lists it.
"""

from __future__ import annotations

NEGATORS = frozenset(
    """
    not no never none neither nor without cannot cant dont doesnt didnt isnt arent wasnt werent wont wouldnt
    shouldnt couldnt hasnt havent hadnt mustnt neednt nicht kein keine keinen keinem keiner keines nie niemals weder
    ohne no nunca jamás jamas ni sin ningún ningun ninguno ninguna tampoco ne pas jamais aucun aucune sans ni não
    nao nunca jamais sem nenhum nenhuma non mai senza nessun nessuno nessuna né не ни нет никогда без нельзя niet
    geen nooit zonder inte aldrig utan ikke aldri ingen
    """.split()
)
DENSE_NEGATORS = (
    "不再", "没有", "不是", "不会", "不能", "不", "没", "無", "无", "未", "非", "别", "ません", "ない", "なし",
    "않", "없",
)  # fmt: skip

# What held before holds no longer: (words of the marker, side that it speaks of).
ENDED = (
    "no longer", "not any more", "not anymore", "any longer", "anymore", "used to", "previously", "formerly",
    "stopped", "nicht mehr", "nicht länger", "früher", "vormals", "ehemals", "ya no", "antes", "anteriormente",
    "dejó de", "ne plus", "auparavant", "já não", "não mais", "non più", "in precedenza", "больше не", "уже не",
    "раньше", "ранее", "прежде", "niet meer", "vroeger", "不再", "以前", "曾经", "もう", "以前は", "かつて",
)  # fmt: skip
CHANGED = (
    "now", "instead of", "rather than", "in place of", "as of", "from now on", "nowadays", "these days", "switched",
    "switch", "moved", "migrated", "replaced", "replaces", "changed", "renamed", "upgraded", "downgraded",
    "superseded", "jetzt", "nun", "anstatt", "statt", "anstelle", "ab sofort", "gewechselt", "umgestellt",
    "ersetzt", "umgezogen", "ahora", "en lugar de", "en vez de", "a partir de", "cambiamos", "cambió", "migramos",
    "reemplazado", "reemplaza", "maintenant", "désormais", "au lieu de", "remplacé", "remplace", "passé", "migré",
    "agora", "em vez de", "substituído", "mudou", "ora", "adesso", "invece di", "al posto di", "sostituito",
    "теперь", "сейчас", "вместо", "отныне", "перешли", "перешёл", "заменили", "заменён", "переехали", "nu", "现在",
    "改为", "改用", "换成", "取代", "代替", "今は", "現在は", "代わりに", "変更",
)  # fmt: skip
ADDED = frozenset(
    """
    also too additionally besides furthermore moreover likewise another further extra both auch ebenfalls außerdem
    zusätzlich zudem también además igualmente otro otra aussi également également autre também além outro outra
    anche inoltre altro altra тоже также ещё еще кроме дополнительно ook också også
    """.split()
)
DENSE_ADDED = ("也", "还", "還", "另外", "此外", "同时", "も", "また")
DOUBTED = frozenset(
    """
    should could would might may maybe perhaps if unless whether consider considering propose proposal proposed plan
    planned want wish hope when whenever unless suggestion suggest suggested recommend idea todo sollte
    sollten könnte könnten würde vielleicht falls wenn ob möchte debería deberíamos podría quizás quizá si cuando
    devrait devrions pourrait peut-être si quand deveria poderia talvez se quando dovrebbe potrebbe forse se следует
    стоит может возможно если когда бы планируем хотим
    """.split()
)
DENSE_DOUBTED = ("如果", "应该", "應該", "可能", "也许", "もし", "べき", "かもしれ")

# Verbs whose object is one of many: another object contradicts nothing.
MANY = frozenset(
    """
    like love enjoy know speak own has have visit read buy bought add added fix fixed include contain support play
    played watch saw see ate eat tried try wrote write release released publish published learn learned mag
    liebt kennt spricht besitzt hat gusta conoce habla tiene aime connaît parle possède gosta fala tem ama conosce
    parla любит знает говорит имеет есть нравится 喜欢 会 有
    """.split()
)
COPULAS = frozenset(
    """
    is are was were be been becomes became remains means equals ist sind war waren wird es son era eran fue está
    están est sont était étaient é são era foi è sono erano это является был была было были 是 は
    """.split()
)
THE = frozenset(
    """
    the our my your their der die das den dem el la los las le les o a os as il lo gli
    """.split()
)
PREPOSITIONS = frozenset(
    """
    in at on to from by with of for as under over into via per until since through called named bei auf zu von mit
    für als über nach aus unter im am zum zur en a de del con por para desde hasta como dans à chez sur avec pour
    par em no na ao com para di da con su в на из к с по для до от 在 到 为 叫
    """.split()
)
# Words that carry no claim of their own.
EMPTY = frozenset(
    """
    mr mrs ms dr prof herr frau señor señora sr sra monsieur madame signor signora
    the a an this that these those it its we our us you your they their he she his her i my me there here do does
    did has have had been be being am will shall can just only already still very really quite then so and or but
    der die das den dem des ein eine einen einem einer wir unser unsere es sie er ihr und oder aber schon noch nur
    el la los las un una unos unas lo se su sus nuestro nuestra y e o pero ya le les une des du nous notre ce cette
    et ou mais o os as um uma uns umas nosso nossa il lo gli i uno nostro nostra ma и а но мы наш наша наше этот эта
    это он она 的 了 着 地 得 个 們 们 我 我们 你 他 她 它 は が を に で と の だ です ます
    """.split()
)

# Opposites, each with the forms in which it is met.
_OPPOSITES = """
enabled disabled|enable disable|enables disables|active inactive|activated deactivated|on off|up down
open closed|open shut|opens closes|allow forbid|allows forbids|allowed forbidden|allowed prohibited
permitted prohibited|allowed disallowed|permitted forbidden|allowed banned|allowed denied|accept reject
accepts rejects|accepted rejected|like dislike|likes dislikes|liked disliked|like hate|likes hates|liked hated
love hate|loves hates|loved hated|prefer avoid|prefers avoids|enjoy hate|enjoys hates|love dislike
loves dislikes|required optional|mandatory optional|mandatory voluntary|always never|everyone nobody
everybody nobody|all none|public private|internal external|safe unsafe|safe dangerous|secure insecure
stable unstable|reliable unreliable|success failure|succeeds fails|succeeded failed|passes fails|passed failed
works broken|working broken|fixed broken|true false|right wrong|correct incorrect|correct wrong|valid invalid
possible impossible|legal illegal|same different|good bad|better worse|best worst|fast slow|faster slower
easy hard|easy difficult|simple complex|cheap expensive|hot cold|warm cold|high low|higher lower|large small
big small|long short|early late|earlier later|before after|increase decrease|increases decreases
increased decreased|rise fall|rises falls|grow shrink|grows shrinks|start stop|starts stops|started stopped
begin end|begins ends|install uninstall|installed uninstalled|add remove|adds removes|added removed
include exclude|includes excludes|included excluded|encrypted unencrypted|encrypted plain|signed unsigned
sync async|synchronous asynchronous|synchronously asynchronously|manual automatic|manually automatically
automatic manual|sequential parallel|sequentially parallel|mutable immutable|static dynamic|visible hidden
shown hidden|present absent|available unavailable|online offline|connected disconnected|full empty
locked unlocked|blocked unblocked|approved rejected|approve reject|approved denied|granted denied
granted revoked|agree disagree|agrees disagrees|support oppose|supports opposes|trust distrust|married single
married divorced|alive dead|healthy sick|pregnant childless|vegetarian carnivore|employed unemployed
happy unhappy|happy sad|satisfied dissatisfied|comfortable uncomfortable|useful useless|necessary unnecessary
important unimportant|strict lenient|verbose terse|deprecated supported|deprecated recommended
recommended discouraged|encouraged discouraged|free paid|inbound outbound|incoming outgoing|buy sell|buys sells
win lose|wins loses|won lost|ascending descending|minimum maximum|min max|synced unsynced|tracked untracked
read-only writable|frozen mutable|aktiviert deaktiviert|aktiv inaktiv|an aus|offen geschlossen|erlaubt verboten
erlaubt untersagt|immer nie|immer niemals|mag hasst|liebt hasst|liebt verabscheut|öffentlich privat
sicher unsicher|stabil instabil|richtig falsch|wahr falsch|gültig ungültig|möglich unmöglich|gut schlecht
schnell langsam|einfach schwierig|hoch niedrig|groß klein|lang kurz|früh spät|verfügbar nichtverfügbar
pflicht optional|erforderlich optional|manuell automatisch|verschlüsselt unverschlüsselt|activado desactivado
activada desactivada|activo inactivo|activa inactiva|habilitado deshabilitado|habilitada deshabilitada
encendido apagado|encendida apagada|abierto cerrado|abierta cerrada|permitido prohibido|permitida prohibida
permite prohíbe|siempre nunca|gusta disgusta|ama odia|adora odia|público privado|pública privada|seguro inseguro
segura insegura|estable inestable|verdadero falso|correcto incorrecto|válido inválido|posible imposible
bueno malo|buena mala|rápido lento|rápida lenta|fácil difícil|alto bajo|alta baja|obligatorio opcional
obligatoria opcional|manual automático|manual automática|cifrado descifrado|aceptado rechazado
aceptada rechazada|activé désactivé|activée désactivée|actif inactif|ouvert fermé|ouverte fermée
autorisé interdit|autorisée interdite|permis interdit|toujours jamais|aime déteste|adore déteste|public privé
sûr dangereux|stable instable|vrai faux|correct incorrect|valide invalide|possible impossible|bon mauvais
rapide lent|facile difficile|obligatoire facultatif|obligatoire optionnel|manuel automatique|chiffré déchiffré
accepté refusé|ativado desativado|ativada desativada|ativo inativo|aberto fechado|permitido proibido
sempre nunca|gosta odeia|ama odeia|obrigatório opcional|rápido lento|attivo inattivo|attivato disattivato
attivata disattivata|aperto chiuso|permesso vietato|sempre mai|ama odia|obbligatorio facoltativo|veloce lento
включён выключен|включен выключен|включена выключена|включено выключено|активен неактивен|открыт закрыт
открыта закрыта|разрешено запрещено|разрешён запрещён|разрешен запрещен|разрешена запрещена|всегда никогда
любит ненавидит|нравится ненравится|публичный приватный|безопасно опасно|безопасен опасен|стабилен нестабилен
правильно неправильно|верно неверно|возможно невозможно|хорошо плохо|быстро медленно|быстрый медленный
легко трудно|высокий низкий|обязательно необязательно|обязателен необязателен|вручную автоматически
доступен недоступен|принят отклонён|启用 禁用|開啟 關閉|开启 关闭|打开 关闭|允许 禁止|允許 禁止|喜欢 讨厌|喜歡 討厭
公开 私有|公开 私密|安全 危险|稳定 不稳定
同步 异步|手动 自动|成功 失败|必须 可选|必填 可选|总是 从不|有效 无效|支持 反对|增加 减少|开始 停止|快 慢|高 低
大 小|好 坏|真 假|在线 离线|加密 明文|有効 無効|許可 禁止|好き 嫌い
公開 非公開|安全 危険|手動 自動|成功 失敗|必須 任意|開始 停止|同期 非同期
"""
OPPOSITES: dict[str, frozenset[str]] = {}
for _pair in _OPPOSITES.replace("\n", "|").split("|"):
    if _pair.strip():
        _one, _other = _pair.split()
        OPPOSITES[_one] = OPPOSITES.get(_one, frozenset()) | {_other}
        OPPOSITES[_other] = OPPOSITES.get(_other, frozenset()) | {_one}
DENSE_OPPOSITES = tuple(sorted((word for word in OPPOSITES if word > "\u2fff"), key=lambda word: -len(word)))

NUMBERS = {
    word: value
    for value, words in enumerate(
        (
            "zero null cero zéro ноль 零", "one ein eins uno una un один одна 一",
            "two zwei dos deux dois due два две 二 两", "three drei tres trois três tre три 三",
            "four vier cuatro quatre quatro quattro четыре 四", "five fünf cinco cinq cinque пять 五",
            "six sechs seis sei шесть 六", "seven sieben siete sept sete sette семь 七",
            "eight acht ocho huit oito otto восемь 八", "nine neun nueve neuf nove девять 九",
            "ten zehn diez dix dez dieci десять 十", "eleven elf once onze undici одиннадцать",
            "twelve zwölf doce douze doze dodici двенадцать",
        )
    )
    for word in words.split()
}  # fmt: skip
NUMBERS.update({
    "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90, "hundred": 100,
})  # fmt: skip
ARTICLE_NUMBERS = frozenset({"ein", "uno", "una", "un", "один", "одна", "一"})  # more often an article

_UNITS = """
time 0.001 ms millisecond milliseconds millis
time 1 s sec secs second seconds sekunde sekunden segundo segundos seconde secondes секунда секунды секунд 秒
time 60 m min mins minute minutes minuten minuto minutos минута минуты минут 分钟
time 3600 h hr hrs hour hours stunde stunden hora horas heure heures час часа часов 小时
time 86400 d day days tag tage tagen día días jour jours dia dias giorno giorni день дня дней 天
time 604800 w week weeks woche wochen semana semanas semaine semaines неделя недели недель 周
time 2629800 month months monat monate monaten mes meses mois mese mesi месяц месяца месяцев 个月
time 31557600 y yr year years jahr jahre jahren año años an ans année années ano anos anno anni год года лет 年
size 1 b byte bytes
size 1024 k kb kib
size 1048576 mb mib
size 1073741824 gb gib
size 1099511627776 tb tib
length 0.001 mm
length 0.01 cm
length 1 meter meters metre metres
length 1000 km kilometer kilometers kilometre kilometres
mass 0.001 mg
mass 1 g gram grams
mass 1000 kg kilo kilos kilogram kilograms
"""
# Unit -> (dimension, how many of the dimension's base units).
UNITS: dict[str, tuple[str, float]] = {}
for _line in _UNITS.strip().splitlines():
    _dimension, _size, *_names = _line.split()
    UNITS.update(dict.fromkeys(_names, (_dimension, float(_size))))
