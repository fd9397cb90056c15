"""Function and question words, by language: they tell a text's language and carry no question."""

from __future__ import annotations

ENGLISH = frozenset(
    """
    a about above after again against all also am an and any are as at be because been before being below between
    both but by can could did do does doing done down during each few for from further had has have having he her
    here hers herself him himself his how i if in into is it its itself just let me more most my myself no nor not
    now of off on once only or other our ours ourselves out over own please same shall she should so some such than
    that the their theirs them themselves then there these they this those through to too under until up us very
    was we were what when where which while who whom whose why will with would you your yours yourself yourselves
    aren couldn didn doesn don hadn hasn haven isn ll mustn shouldn ve wasn weren wouldn
    """.split()
)

# A few of the commonest words are enough to tell a language; they are left out of questions in it too.
OTHERS: dict[str, frozenset[str]] = {
    "spanish": frozenset("el la los las de del que y en un una por con para es no se lo como más pero su al".split()),
    "portuguese": frozenset("o os as de do da dos das que e em um uma por com para é não se como mais mas".split()),
    "french": frozenset("le la les de des du que et en un une pour avec est pas ne se dans sur au qui ce il".split()),
    "german": frozenset("der die das den dem des und in ein eine einen mit für ist nicht zu von auf sich im".split()),
    "italian": frozenset("il lo la gli le di del della che e in un una per con è non si come più ma al da".split()),
    "dutch": frozenset("de het een en van in op te dat die voor met is niet zijn aan om ook als maar bij".split()),
    "swedish": frozenset("och det att i en som på är av för med till den har inte om ett men var sig så".split()),
    "danish": frozenset("og det at i en som på er af for med til den har ikke om et men var sig så de".split()),
    "norwegian": frozenset("og det at i en som på er av for med til den har ikke om et men var seg så de".split()),
    "finnish": frozenset("ja on ei että se hän oli joka mutta kun niin myös ovat tai sen ole kuin".split()),
    "turkish": frozenset("ve bir bu da de için ile çok gibi daha ne o ama kadar olan var mi mı".split()),
}
