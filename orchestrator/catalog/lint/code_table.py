"""The table of docs/lint.md: for each code, the finding and its fix."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from orchestrator.catalog.lint.linter import CODES


class Explanation(NamedTuple):
    """The text that documents one code."""

    finds: str
    fix: str


EXPLANATIONS: Final[Mapping[str, Explanation]] = {
    "ORC001": Explanation(
        "The document breaks the schema of its OpenAPI version, or is not 3.0, 3.1 or 3.2",
        "Correct the place that the pointer names",
    ),
    "ORC002": Explanation(
        "The operation cannot be compiled, so the tool is skipped",
        "Correct the reference or parameter that the finding names",
    ),
    "ORC003": Explanation(
        "An overlay action selects nothing, or neither updates nor removes",
        "Correct its `target`, or delete the action",
    ),
    "ORC004": Explanation(
        "A part of the document that no tool uses breaks the OpenAPI schema",
        "Correct it when convenient; other programs may reject the document",
    ),
    "ORC005": Explanation(
        "The root, `info` or the place next to a `$ref` has a field that OpenAPI does not know",
        "Correct it when convenient; everybody ignores it",
    ),
    "ORC010": Explanation(
        "The operationId is missing or cannot name a tool, so a name is generated",
        "Use letters, digits, `_` and `-`, at most 64, beginning with a letter or `_`",
    ),
    "ORC011": Explanation(
        "Two tools share an operationId; both get a generated name", "Rename one of them"
    ),
    "ORC012": Explanation(
        "A tool has no summary, which is its title on cards and for the router",
        "Write one short sentence",
    ),
    "ORC013": Explanation(
        "Neither description nor summary has five words", "Describe when to use the tool"
    ),
    "ORC014": Explanation(
        "A text uses an unexplained abbreviation or a name such as `OrderCreateRQ`",
        "Spell it out: people read it on cards, requests are matched by it",
    ),
    "ORC015": Explanation(
        "The description does not say both when to use the tool and its answer",
        "Write `Use this when ...` and `Returns ...`",
    ),
    "ORC020": Explanation(
        "A JSON body is not an object, so it becomes one input named `body`",
        "Wrap it in an object, if the provider can change",
    ),
    "ORC021": Explanation(
        "An input has no limits, so only the provider can refuse a bad value",
        "Add a type, enum, format, pattern, length, bounds or `maxItems`",
    ),
    "ORC022": Explanation("An input has no description", "Say in a few words what belongs there"),
    "ORC023": Explanation(
        "A body with required properties may be left out",
        "Add `required: true`, or `required: false` if intended",
    ),
    "ORC024": Explanation(
        "The answer of a read is undeclared, or its properties are declared for a type "
        "other than JSON",
        "Declare the JSON schema of the answer",
    ),
    "ORC025": Explanation(
        "A pattern is not an ECMA-262 regular expression; calls that it checks are refused",
        "Correct the pattern",
    ),
    "ORC026": Explanation(
        "A schema contains itself through compositions and references alone",
        "Let only a property or an element refer back",
    ),
    "ORC027": Explanation(
        "A pattern looks around, refers back, or repeats a repetition such as `(a+)+`",
        "Rewrite it without these; long texts may be refused",
    ),
    "ORC028": Explanation(
        "A pattern is too large, or uses a construct that no bounded engine reads",
        "Rewrite it; until then calls that it checks are refused",
    ),
    "ORC029": Explanation(
        "No value with its own properties satisfies an `allOf`: one part excludes another's",
        "Correct `additionalProperties` or the type; `unevaluatedProperties` closes an `allOf`",
    ),
    "ORC030": Explanation(
        "An `x-orchet-*` or `x-orqen-*` keyword is unknown, or is not read at its place",
        "Correct the spelling, or move it to the operation",
    ),
    "ORC031": Explanation(
        "A tool that may change something does not declare confirmation",
        "Set `x-orchet-requires-confirmation`, or `x-orchet-read-only: true`",
    ),
    "ORC032": Explanation(
        "The card type is unknown", "Use a standard type, or list it in `x-orchet-card-types`"
    ),
    "ORC033": Explanation(
        "A name in `x-orchet-pii-required` is not an input", "Use the name of the input"
    ),
    "ORC034": Explanation(
        "Every security alternative is undeclared, or of a kind that cannot be sent",
        "Declare apiKey, http basic or bearer, oauth2 or openIdConnect",
    ),
    "ORC035": Explanation(
        "No server has a host; only declared hosts are called", "Add an absolute server URL"
    ),
    "ORC036": Explanation(
        "The value of a keyword breaks specs/x-orchet.schema.json", "Correct the value"
    ),
    "ORC037": Explanation(
        "Effect declarations contradict each other, such as `x-orchet-read-only: true` on a DELETE",
        "Keep the true one; until then the stronger effect holds",
    ),
    "ORC040": Explanation(
        "A tool has an effect and names no cancel tool",
        "Add `x-orchet-cancels`, `x-orchet-irreversible: true` or `x-orchet-read-only: true`",
    ),
    "ORC041": Explanation(
        "A cancel pair or a probe names something that is not a tool of the document",
        "Give it `x-orchet-tool: true` in the same document",
    ),
    "ORC042": Explanation(
        "One end of a pair names the other, which names another tool or none",
        "Set `x-orchet-cancels` and `x-orchet-cancel-for` to each other",
    ),
    "ORC043": Explanation(
        "A cancel tool may ask, which would block a rollback",
        "Set `x-orchet-requires-confirmation: false` on it",
    ),
    "ORC044": Explanation(
        "The cancel tool or probe requires an input that the call does not fill",
        "Add it to `x-orchet-compensation-args`",
    ),
    "ORC045": Explanation(
        "An argument of the cancel tool or probe is not one of its inputs",
        "Use the name of an input, and a value that it takes",
    ),
    "ORC046": Explanation(
        "An expression reads a value that the call neither sends nor receives",
        "Read a declared input or property of the answer",
    ),
    "ORC047": Explanation(
        "The call cannot be cancelled when its answer is lost, so it is parked",
        "Cancel by a client reference, add a probe, or an `Idempotency-Key` header",
    ),
    "ORC048": Explanation(
        "A probe reads the answer: it verifies a cancel, and finds no call whose answer is lost",
        "Fill its args from `$request` only, if the provider can be asked so",
    ),
    "ORC049": Explanation("The probe is a tool with an effect", "Name a read"),
    "ORC050": Explanation(
        "A tool with an effect takes no idempotency key, so it is never retried",
        "If the provider takes one, name its field in `x-orchet-idempotency-key`",
    ),
    "ORC051": Explanation(
        "`x-orchet-compensation-*` stands on a tool without `x-orchet-cancels`",
        "Move it to the tool that creates the obligation",
    ),
    "ORC052": Explanation(
        "Without key and probe, the cancel finds a lost call by an input that others may share",
        "Cancel by a reference that is unique for each call",
    ),
    "ORC053": Explanation(
        "A card layout names a field that no tool has", "Use an input or a property of an answer"
    ),
    "ORC054": Explanation(
        "An irreversible tool asks nobody", "Set `x-orchet-requires-confirmation` to a card type"
    ),
    "ORC055": Explanation(
        "Neither the call nor its answer fills any input of the cancel tool; it is never sent",
        "Give the cancel an input for the id or a client reference, and fill it",
    ),
    "ORC056": Explanation(
        "A probe declares no 404 or 410, or answers with a list, and has no `gone-when`",
        "Declare its 404 with content type and body, or add `gone-when`",
    ),
    "ORC057": Explanation(
        "A probe may still find a cancelled thing, and `gone-when` does not say how it looks",
        'Add `gone-when`, such as `$response.body#/status == "cancelled"`',
    ),
    "ORC058": Explanation(
        "A tool with an effect may answer 202, and nothing shows when it is done",
        "Add a probe, or `x-orchet-success-when: $statusCode == 202`",
    ),
    "ORC059": Explanation(
        "A condition reads an undeclared property, or compares it with an impossible value",
        "Read a declared property and a value that it may have",
    ),
    "ORC060": Explanation(
        "The price of a tool that spends cannot be read", "Add `x-orchet-price` or minor units"
    ),
    "ORC061": Explanation(
        "`x-orchet-price` reads a property that neither request nor answer has",
        "Point it at a declared property",
    ),
    "ORC062": Explanation(
        "Words and `x-orchet-minor-units` disagree on the unit of an amount",
        "Correct one; the keyword is believed",
    ),
    "ORC063": Explanation(
        "A currency has a value outside ISO 4217", "Use a code, or rename the property"
    ),
    "ORC064": Explanation(
        "The answer of a probe repeats neither the reference nor the key that was sent",
        "Declare the reference in its answer",
    ),
    "ORC065": Explanation(
        "A suppression has no reason, matches no finding, or names a code that stays",
        "Add the reason, move it, or remove it",
    ),
    "ORC066": Explanation(
        "A security alternative is passed over, because it cannot be sent and another one can",
        "Nothing, unless the provider asks for this one",
    ),
    "ORC067": Explanation(
        "A parameter is a credential: nobody is asked for it, and a required one is sent from the "
        "secrets",
        "Make it a security scheme by the overlay that the finding shows, or set "
        "`x-orchet-credential: false` on it",
    ),
    "ORC068": Explanation(
        "A tool is deprecated; it ranks behind an equal one", "Mark its successor instead"
    ),
    "ORC069": Explanation(
        "A currency is listed that is none any more", "Leave it, or remove it if the provider has"
    ),
    "ORC070": Explanation(
        "The words of a GET speak of a change, and nobody is asked before it",
        "Set `x-orchet-read-only: false` with a confirmation, or `true` if it only reads",
    ),
    "ORC071": Explanation(
        "Words count the decimals of some currency otherwise than ISO 4217",
        "Add `x-orchet-minor-units` with these currencies: `{default: iso, ISK: 2}`",
    ),
    "ORC072": Explanation(
        "Nothing verifies a cancel: its status of success is believed unless it is contradicted",
        "Add `x-orchet-success-when` to it, or a probe that tells what is cancelled",
    ),
    "ORC073": Explanation(
        "`x-orchet-success-when` rejects a state that may still become a success",
        'Name the failures: `$response.body#/status != "failed"`',
    ),
    "ORC074": Explanation(
        "An expression reads a type that the input which it fills does not take, in no form",
        "Read another property, or correct the wrong type",
    ),
}


def code_table() -> str:
    """Return the Markdown table of all codes; an asterisk marks those never suppressed."""
    rows = [
        f"| {code.code}{'*' if code.is_lasting else ''} | {code.severity} "
        f"| {EXPLANATIONS[code.code].finds} | {EXPLANATIONS[code.code].fix} |"
        for code in CODES
    ]
    return "\n".join(["| code | severity | finding | fix |", "|---|---|---|---|", *rows])
