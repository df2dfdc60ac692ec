/* Relay text that is refused: each row is a text, the place and the sentence of its first report. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "test_relay.h"

#define F4(n, m) "let %f" #n " = fn[A](%y: A) { %f" #m "(%f" #m "(%y)) };\n"
#define MAIN(body) "def @main(%x: Tensor[(n, 4), float32]) {\n" body "\n}\n"

#define PARTS8 "_, _, _, _, _, _, _, _, "
#define PARTS "(" PARTS8 PARTS8 PARTS8 PARTS8 PARTS8 PARTS8 PARTS8 PARTS8 PARTS8

typedef struct row {
    const char *text, *want;
} row;

/* clang-format off */
static const row rows[] = {
    /* modules */
    { "#[version = \"0.0.6\"]\n" MAIN("%x"),
      "t:1:13: error: version \"0.0.6\" of Relay text is not supported; only \"0.0.5\" is [relay-E002]" },
    { "#[flavour = \"x\"]\n" MAIN("%x"),
      "t:1:3: error: unknown attribute of a module; known are #[version = \"0.0.5\"], #[symbols = \"n in [1, "
      "16]\"], #[outputs = [\"name\"]], #[model = [\"key\", \"value\"]] and #[state = [\"input\", \"output\"]] "
      "[relay-E003]" },
    { "#[state = [\"x\"]]\n" MAIN("%x"),
      "#[state = [\"input\", \"output\"]] takes two strings, or three: the name of the function whose result is "
      "what the first run sees [relay-E250]" },
    { "#[outputs = [\"a\"]]\n#[state = [\"h\", \"a\"]]\n" MAIN("%x"),
      "t: error: #[state = [\"h\", \"a\"]]: @main has no such parameter [relay-E251]" },
    { "#[state = [\"x\", \"a\"]]\n" MAIN("%x"),
      "t: error: #[state = [\"x\", \"a\"]]: @main has no such output; #[outputs] names them [relay-E251]" },
    { "#[outputs = [\"a\", \"b\"]]\n" MAIN("%x"),
      "t: error: #[outputs] names 2 outputs, but @main has 1 results [relay-E056]" },
    { "#[outputs = [\"a\", 1]]\n" MAIN("%x"), "t:1:19: error: expected a string, found `1` [ir-E001]" },
    { "#[outputs = \"a\"]\n" MAIN("%x"), "t:1:13: error: expected `[`, found `a` [ir-E001]" },
    { "#[model = [\"a\"]]\n" MAIN("%x"),
      "t:1:16: error: #[model = [\"key\", \"value\"]] takes two strings [relay-E003]" },
    { "#[version = 5]\n" MAIN("%x"), "t:1:13: error: expected a string in quotes [relay-E003]" },
    { "#[symbols = \"n in [4, 3]\"]\n" MAIN("%x"),
      "this range is empty; write `n in [least, most]` with least <= most [relay-E004]" },
    { "#[symbols = \"n in [4, 5] m\"]\n" MAIN("%x"), "expected `,` or the end of the symbols [relay-E004]" },
    { "def @main(%x: Tensor[(n, 64), float32]) {\n  relayout(%x, dst_layout=\"NC16c\")\n}\n",
      "t:2:3: error: a result of a function or a region has a layout; `relayout` it to the plain one (relayout) "
      "[relay-E108]" },
    { "def @main(%x: Tensor[(n, 64), float32, NC16c]) {\n  add(%x, 1f)\n}\n",
      "a parameter of a function or a region has a layout (var) [relay-E108]" },
    { "def @main(%x: Tensor[(n, 64), float32]) {\n  let %f = fn (%y: Tensor[(n, 64), float32]) { %y };\n"
      "  %f(relayout(%x, dst_layout=\"NC16c\"))\n}\n",
      "an argument and its parameter have different layouts (call) [relay-E108]" },
    { MAIN("%x") "%y", "t:4:1: error: expected `def @name(...)` or the end, found '%' [relay-E005]" },
    { "", "t:1:1: error: this text has no function; write def @main(...) { ... } [relay-E006]" },
    { MAIN("%x") MAIN("%x"), "t:4:6: error: @main is defined twice [relay-E051]" },
    { "type T { A, A }\n" MAIN("%x"),
      "t:1:13: error: A is the name of another constructor, of an operator or of a type [relay-E222]" },
    { "type T { add(float32) }\n" MAIN("%x"), "of an operator or of a type [relay-E222]" },
    { "type T { }\n" MAIN("%x"), "t:1:10: error: a type has at least one constructor [relay-E222]" },
    { "type T[float32] { A }\n" MAIN("%x"), "a type parameter cannot have the name of a type [relay-E221]" },
    { "type T { A }\ntype T { B }\n" MAIN("%x"), "t:2:6: error: type T is defined twice [relay-E051]" },
    { "type T { A(Tensor[(n), float32]) }\n" MAIN("%x"),
      "t:1:12: error: extents inside of a data type are numbers or `?` [relay-E080]" },
    { "def @f(%x: List[float32, int32]) { %x }\n" MAIN("%x"),
      "t:1:32: error: List takes 1 types, but 2 are given [relay-E221]" },
    { "extern type Dict\n" MAIN("%x"), "t:1:1: error: `extern` declarations are not supported yet [relay-E028]" },
    { MAIN("@map"),
      "t:2:1: error: @map has type parameters, so it can only be called, be the argument of a call, or get a plain "
      "type, as in let %g: fn (float32) -> float32 = ... [relay-E223]" },
    { MAIN("let %f = @id;\n%f + %x"), "t:3:1: error: @id has type parameters" },
    { MAIN("@map(Some, Nil)"),
      "t:2:6: error: what Some takes here does not follow from the other arguments; write fn (%x: type) { ... } that "
      "calls it [relay-E083]" },
    { MAIN("@compose(nn.relu, negative)"), "t:2:10: error: what nn.relu takes here does not follow" },
    { MAIN("@id(nn.relu)"), "t:2:5: error: 'nn.relu' is not a value" },
    { MAIN("let %f = nn.relu;\n(%x, %f)"), "t:3:6: error: 'nn.relu' is not a value" },
    { MAIN("(Cons, %x)"), "t:2:2: error: construct: Cons takes 2 fields, but 0 are given [op-E070]" },
    { MAIN("match (Cons) { Nil => { %x } }"),
      "t:2:16: error: this pattern is not for a value of type ? [relay-E227]" },
    { MAIN("if (Some) { %x } else { %x }"), "t:2:5: error: construct: Some takes 1 fields, but 0 are given [op-E070]" },
    { MAIN("let %c = Cons;\n%c.0"), "t:3:4: error: only a tuple has fields such as .0 [relay-E037]" },
    { MAIN("@map(nn.conv2d, Cons(%x, Nil))"),
      "nn.conv2d: 1 operands are given, but it takes exactly 2 [op-E001]" },
    { MAIN("@map(transpose, @map(@hd, Cons(%x, Nil)))"), "relay-E" },
    { MAIN("@foldl(Cons, Nil, Cons(%x, Nil))"), "op-E070" },
    { MAIN("@twice"), "relay-E" },
    { MAIN("%x(Some)"), "t:2:1: error: only a function can be called [relay-E038]" },
    { MAIN("let %c = Cons;\nlet %n = %c(%x, Nil);\n%c(1, 2, 3)"),
      "t:4:1: error: construct: Cons takes 2 fields, but 3 are given" },
    { MAIN("@map(fn (%a: float32) { %a }, Cons(1i64, Nil))"),
      "t:2:1: error: argument 1 of @map is List[int64], but the arguments before it ask for List[float32] "
      "[relay-E224]" },
    { MAIN("@map(%x, Nil)"), "argument 0 is Tensor[(n, 4), float32], but the function takes fn (_) -> _ [op-E012]" },
    { "def @grow[A](%x: A) -> int32 { @grow((%x, %x)) }\n" MAIN("@grow(%x)"),
      "t:1:48: error: @grow calls itself with larger and larger types [relay-E225]" },
    { MAIN("let %f = fn (%a: float32) { %f(%a) };\n%f(1f)"),
      "t:2:29: error: %f calls itself; write the type of its result, as in fn (...) -> float32 [relay-E228]" },
    { "def main() { 1 }", "t:1:5: error: expected `@`, found `main` [ir-E001]" },
    /* what is not supported yet */
    { MAIN("if (%x) { 1 }"), "t:3:1: error: expected `else`, found `}` [ir-E001]" },
    { MAIN("match (%x) { Nil => 1 }"),
      "t:2:14: error: this pattern is not for a value of type Tensor[(n, 4), float32] [relay-E227]" },
    { MAIN("match (Nil) { Foo(%a) => 1, _ => 2 }"), "t:2:18: error: no data type has a constructor Foo [relay-E227]" },
    { MAIN("match (Cons(%x, Nil)) { Cons(%a: int32, _) => %a, Nil => 1 }"),
      "t:2:30: error: this pattern is not for a value of type Tensor[(?, 4), float32] [relay-E227]" },
    { MAIN("match (Cons(1, Nil)) { Cons(%a: int32, Nil) => 1, Cons(%b: Tensor[?, int32], _) => 2, Nil => 1 }"),
      "this pattern is not for a value of type int32 [relay-E227]" },
    { MAIN("match ((%x, 1)) { (%a: int32, _) => 1 }"), "t:2:22: error: expected `)`, found `:` [ir-E001]" },
    { MAIN("match (Nil) { Cons(%a) => 1, _ => 2 }"), "Cons has 2 fields, but the pattern has 1 [relay-E227]" },
    { MAIN("match (Cons(%x, Nil)) { Cons(%a, Cons(_, _)) => %a, Nil => %x }"),
      "t:2:1: error: no clause of the match is for Cons(_, Nil); add one, or write match? to end the run there "
      "[relay-E220]" },
    { MAIN("match ((Nil, 1)) { (Cons(%a, _), _) => 1 }"), "no clause of the match is for (Nil, _); " },
    { MAIN("match ((%x, 1)) { (%a, %b, %c) => %a }"), "this pattern is not for a value of type" },
    { MAIN("match (Cons(1, Nil)) { Cons(%a, _) => %a, Nil => 1i64 }"),
      "match: result 0 is int32 in one clause and int64 in another, but both must have the same type [op-E073]" },
    { MAIN("match (Cons(1, Nil)) { Cons(%a, _) => (%a, %a), Nil => 1 }"),
      "match: the clauses have 2 and 1 results, but must have the same number [op-E073]" },
    { MAIN("Cons(%x)"), "t:2:1: error: construct: Cons takes 2 fields, but 1 are given [op-E070]" },
    { MAIN("Cons(%x, 1)"),
      "construct: field 1 of Cons is int32, which does not fit List[Tensor[(?, 4), float32]] [op-E070]" },
    { MAIN("match ((%x, 1)) { (%a, %a) => { %a } }"),
      "the pattern names two values %a; give each its own name [relay-E229]" },
    { MAIN("match (Nil) { " PARTS ") => 1, _ => 2 }"), "a pattern has at most 64 parts [relay-E226]" },
    { MAIN("%x := %x;\n%x"), "ref_write: the operand must be a reference, but is Tensor[(n, 4), float32] [op-E050]" },
    { MAIN("ref_read(%x)"), "reference, but is Tensor[(n, 4), float32] [op-E050]" },
    { MAIN("ref_write(ref(1), 2f)"), "t:2:1: error: ref_write: float32 is written to ref(int32) [op-E051]" },
    { MAIN("@main(%x)"), "t:2:1: error: @main calls itself; a package runs it, but nothing can call it [relay-E060]" },
    { "def @main(%x: bool) { @f(%x) }\ndef @f(%x: bool) { @g(%x) }\ndef @g(%x: bool) { @f(%x) }\n",
      "t:3:20: error: @f calls itself; write the type of its result, as in def @f(...) -> float32 [relay-E025]" },
    { MAIN("add(let %y = 1; %y, 1)"), "t:2:5: error: `let` must begin a line of its own, as in let %x = ...; "
                                      "[relay-E026]" },
    { MAIN("%0 = free_var %y: bool;\n%x"),
      "t:2:6: error: `free_var` can only precede a bare expression; in a function, write a parameter [relay-E027]" },
    { "def @main(%f: fn [A](A) -> A) { 1 }",
      "t:1:18: error: only the type of a `let` has type parameters: a function that is passed on has one type; write "
      "plain types, and pass on one function for each of them [relay-E021]" },
    { MAIN("let %f = fn (%g: fn[A](A) -> A) { %g(1) };\n%x"), "t:2:20: error: only the type of a `let` has" },
    { "type T { C(fn[A](A) -> A) }\n" MAIN("%x"), "t:1:14: error: only the type of a `let` has" },
    { MAIN("let %f = fn[A](%y: A) { %y };\n(%f, %x)"),
      "t:3:2: error: %f has type parameters, so it can only be called" },
    { MAIN("%x + fn[A](%y: A) { %y }"), "t:2:6: error: this closure has type parameters, so it can only be called" },
    { MAIN("let %f = fn[A](%y: A) { %f(%y) };\n%f(1f)"),
      "t:2:25: error: %f calls itself; write the type of its result, as in fn (...) -> float32 [relay-E228]" },
    { MAIN("let %f = fn[A](%y: A) -> A { %f((%y, %y)).0 };\n%f(1f)"),
      "t:2:30: error: call: argument 0 is (float32, float32), but the function takes float32 [op-E012]" },
    { MAIN("let %f = fn[A](%y: A) { %z };\nlet %z = %x;\n%f(1f)"),
      "t:2:25: error: %z is not defined here [relay-E039]" },
    { MAIN("let %f = fn[A](%y: A) { exp(%y) };\n%f(%x) + %f(1)"),
      "t:2:25: error: exp: operand 0 must be a float tensor, but is int32; cast it [op-E011]" },
    { MAIN("let %f = fn[A](%y: A, %z: A) { %y };\n%f(1, %x)"),
      "t:3:1: error: argument 1 of %f is Tensor[(n, 4), float32], but the arguments before it ask for int32 "
      "[relay-E224]" },
    { MAIN("let %f = fn[A](%y: A, %z: A) { %y };\n%f(1)"),
      "t:3:1: error: %f takes 2 arguments, but 1 are given [relay-E045]" },
    { MAIN("@map(fn[A](%y: A) { %y }, Nil)"),
      "t:2:6: error: what this closure takes here does not follow from the other arguments; " },
    { MAIN("let %f = fn[A](%y: A)) { %y };\n%x"), "t:2:22: error: expected `{`, found `)` [ir-E001]" },
    { MAIN("let %f = fn[A](%y: A) { { { %y };\n%x"),
      "t:5:1: error: expected `}`, found the end of the text [ir-E001]" },
    { MAIN("let %f: fn[A](A) -> A = fn[A](%y: A) { %y };\n%x"),
      "t:2:25: error: its text does not say the type that the `let` says, with parameters and result; leave the type "
      "of the `let` out [relay-E084]" },
    { MAIN("let %f: fn[A](A) -> A = fn[A](%y: List[A]) -> List[A] { %y };\n%x"),
      "t:2:25: error: its text does not say" },
    { MAIN("let %f: fn[A](A) -> A = nn.relu;\n%f(%x)"), "t:2:25: error: its text does not say" },
    { MAIN("let %f: fn[A](A) -> A = %x;\n%x"), "t:2:25: error: its text does not say" },
    { MAIN("let %f: fn (int32) -> int64 = fn[A](%y: A) { %y };\n%x"),
      "the value is declared as fn (int32) -> int64, but its type is fn (int32) -> int32 [relay-E050]" },
    { MAIN("let %f0 = fn[A](%y: A) { (%y, %y) };\n" F4(1, 0) F4(2, 1) F4(3, 2) F4(4, 3) "%f4(1)"),
      "error: %f0 is used at too many types, or at one that is too large [relay-E225]" },
    /* types */
    { "def @main(%x: Tensor[(-1, 4), float32]) { %x }",
      "t:1:23: error: a dimension must be at least 0, but this is -1 [relay-E010]" },
    { "def @main(%x: Tensor[(n == 1, 4), float32]) { %x }",
      "t:1:23: error: a dimension must be an index expression of integers and symbols [relay-E010]" },
    { "def @main(%x: Tensor[(1, 4), float33]) { %x }",
      "t:1:30: error: expected the dtype of a tensor (float32, int8, bool, ...), found 'float33' "
      "[relay-E011]" },
    { "def @main(%x: Tensor[(1, 4), index]) { %x }",
      "t:1:30: error: expected the dtype of a tensor (float32, int8, bool, ...), found 'index' "
      "[relay-E011]" },
    { "def @main(%x: Tensor[(1, 4), float32, NCHW4c]) { %x }",
      "t:1:39: error: layout NCHW4c has 4 dimensions, but the tensor has 2 [relay-E012]" },
    { "def @main(%x: Seq[Tensor[(n, 4), float32]]) { %x }",
      "t:1:15: error: extents of texts, and inside of Seq, Optional and Map, are numbers or `?` [relay-E080]" },
    { "def @main(%x: Tensor[(n), string]) { %x }",
      "t:1:21: error: extents of texts, and inside of Seq, Optional and Map, are numbers or `?` [relay-E080]" },
    { "def @main(%x: Map[int64]) { %x }", "t:1:15: error: 1 types are given, but it takes 2 [relay-E081]" },
    { "def @main(%x: Seq[int64, int8]) { %x }", "t:1:15: error: 2 types are given, but it takes 1 [relay-E081]" },
    { "def @main(%x: string) { exp(%x) }",
      "t:1:25: error: exp: operand 0 is a tensor of texts, but it takes numbers [op-E080]" },
    { MAIN("cast(%x, dtype=\"string\")"),
      "cast: the result would be a tensor of texts, but it gives numbers [op-E080]" },
    { "def @main(%x: Tensor[?, float32]) { exp(%x) }",
      "the rank of operand 0 is not known: it is Tensor[?, float32]; say it with unbox [op-E002]" },
    { MAIN("seq.at(%x, 0)"), "seq.at: seq must be a sequence, but is Tensor[(n, 4), float32] [op-E081]" },
    { MAIN("seq.at(seq.of(), 0)"), "seq.at: the sequence is empty, so it has no element [op-E081]" },
    { MAIN("seq.of(%x, 1)"), "a sequence of Tensor[(?, 4), float32] cannot hold int32 [op-E081]" },
    { MAIN("seq.at(seq.of(%x), 1f)"), "seq.at: position must be an integer, but is float32 [op-E011]" },
    { MAIN("map.keys(%x)"),
      "map.keys: map must be a map to numbers or texts, but is Tensor[(n, 4), float32] [op-E082]" },
    { MAIN("map.zip(%x, %x)"), "map.zip: keys must have 1 dimensions, but is Tensor[(n, 4), float32] [op-E003]" },
    { "def @main(%k: Tensor[(3), int64], %x: Tensor[(2), int8]) { map.zip(%k, %x) }",
      "map.zip: there are 3 keys, but rows of 2 values [op-E008]" },
    { "def @main(%k: Tensor[(2), int8]) { map.zip(%k, %k) }",
      "map.zip: keys must be int64 or texts, but is Tensor[(2), int8] [op-E082]" },
    { "def @main(%m: Map[string, int8], %k: Tensor[(2), int64]) { map.get(%m, %k, 1i8) }",
      "map.get: Tensor[(2), int64] and int8 do not fit Map[string, int8] [op-E082]" },
    { MAIN("image.decode(%x)"), "image.decode: data must have 1 dimensions, but is Tensor[(n, 4), float32] [op-E003]" },
    { "def @main(%x: Tensor[(n), uint8]) { image.decode(%x, pixel_format=\"grey\") }",
      "pixel_format is \"grey\"; RGB, BGR and Grayscale are known [op-E007]" },
    { MAIN("string.equal(%x, %x)"),
      "string.equal: operand 0 must be a tensor of texts, but is Tensor[(n, 4), float32] [op-E085]" },
    { "def @main(%x: Tensor[(2), string], %y: Tensor[(3), string]) { string.concat(%x, %y) }",
      "Tensor[(2), string] and Tensor[(3), string] do not broadcast [op-E005]" },
    { MAIN("string.of_number(cast(%x, dtype=\"int8\"))"),
      "string.of_number: data must be int64, uint64, float32 or float64, but is Tensor[(n, 4), int8]; "
      "cast it [op-E011]" },
    { "def @main(%x: string) { string.to_number(%x, dtype=\"int8\") }",
      "string.to_number: dtype is int8; int64, uint64, float32 and float64 are known [op-E011]" },
    { "def @main(%x: Tensor[(2), string]) { string.take(%x, 1) }",
      "string.take: operand 1 must be int64, but is int32 [op-E011]" },
    { MAIN("opt.get(opt.none())"), "opt.get: the optional value is empty [op-E081]" },
    { "def @f(%x: (float32, _)) { %x }\n" MAIN("@f((1f, 2f)).0"),
      "argument 0 of the call is (float32, float32), but the function takes (float32, _) [relay-E049]" },
    { "def @f(%n: int32) -> _ { if (%n == 0) { %n } else { @f(%n - 1) } }\n" MAIN("@f(1)"),
      "the result is declared as _, but its type is int32 [relay-E050]" },
    { "def @main(%x: Lists[float32]) { %x }",
      "t:1:15: error: unknown type 'Lists'; write a tensor (Tensor[(2, 3), float32]), a scalar (float32), a "
      "tuple, an fn type, or a type that the text defines [relay-E014]" },
    { "def @main(%x: Tensor[(4*h, 4), float32]) { %x }",
      "nothing binds 'h'; some parameter must have 'h' itself as a dimension, because expressions are checked, "
      "not solved [relay-E016]" },
    { "def @main(%x) { %x }", "t:1:11: error: %x needs a type, as in %x: Tensor[(1, 3), float32] [relay-E053]" },
    { "def @main(%x: _) { %x }", "t:1:11: error: %x needs a type, as in %x: Tensor[(1, 3), float32] [relay-E053]" },
    { "def @main(%x: bool, %x: bool) { %x }", "t:1:21: error: %x is defined twice [relay-E051]" },
    { "def @main(%x: Tensor[(n, 4), float32]) -> Tensor[(m, 4), float32] { %x }", "t:1:51: error:" },
    { "def @main(%x: Tensor[(n, 4), float32]) -> Tensor[(n, 5), float32] { %x }",
      "t:1:43: error: the result is declared as Tensor[(n, 5), float32], but its type is Tensor[(n, 4), "
      "float32] [relay-E050]" },
    { MAIN("let %y: Tensor[(?, 4), int32] = %x;\n%y"),
      "t:2:33: error: the value is declared as Tensor[(?, 4), int32], but its type is Tensor[(n, 4), float32] "
      "[relay-E050]" },
    { MAIN("%0 = fn (%y: float32) -> int32 { %y };\n%x"),
      "the result is declared as int32, but its type is float32 [relay-E050]" },
    /* literals, constants */
    { MAIN("%x * 1q"),
      "t:2:6: error: unknown suffix 'q' of a number; use f, f64, f16, bf16, i8 ... i64, u8 ... u64 [relay-E030]" },
    { MAIN("%x * 1i7777"), "t:2:6: error: unknown suffix" },
    { MAIN("%x * 300u8"), "t:2:6: error: 300 does not fit its integer type [relay-E031]" },
    { MAIN("%x * -129i8"), "t:2:7: error: -129 does not fit its integer type [relay-E031]" },
    { MAIN("%x * -1u64"), "t:2:7: error: -1 does not fit its integer type [relay-E031]" },
    { MAIN("%x * 1.5i32"), "t:2:6: error: 1.5 does not fit its integer type [relay-E031]" },
    { MAIN("%x * 99999999999"), "t:2:6: error: 99999999999 does not fit its integer type [relay-E031]" },
    { MAIN("%x * 0xffffffffffffffffi64"), "does not fit its integer type [relay-E031]" },
    { MAIN("meta[relay.attrs][0]"), "t:2:6: error: only meta[relay.Constant][k] can stand here [relay-E035]" },
    { MAIN("meta[relay.Constant][x]"), "t:2:22: error: expected the number of a constant [relay-E035]" },
    { MAIN("%x + meta[relay.Constant][0]"),
      "t:2:6: error: the type of meta[relay.Constant][0] is unknown; write it in a comment after it, as in /* "
      "name (256, 64) */ [relay-E036]" },
    { MAIN("%x + meta[relay.Constant][0] /* w (n, 4) */"),
      "the type of a constant must be a tensor with constant dimensions [relay-E015]" },
    { MAIN("%x + meta[relay.Constant][0] /* ty=(float32, float32) */"),
      "the type of a constant must be a tensor with constant dimensions [relay-E015]" },
    { MAIN("%x + meta[relay.Constant][0] /* ty=() */ + meta[relay.Constant][0]"),
      "t:2:6: error: the type of a constant must be a tensor with constant dimensions [relay-E015]\n"
      "t:2:44: error: the type of meta[relay.Constant][0] is unknown" },
    { MAIN("%x + meta[relay.Constant][0] /* w (9223372036854775807, 3) */"),
      "this constant is larger than any memory [relay-E015]" },
    { MAIN("%x + meta[relay.Constant][0] /* w (4) floot */"), "t:2:" },
    { MAIN("%x + meta[relay.Constant][0] /* ty=Tensor[(4), float32]\xa0 */"), "byte 0xa0 is not allowed" },
    /* names, fields */
    { MAIN("%y"), "t:2:1: error: %y is not defined here [relay-E039]" },
    { MAIN("%0 = fn (%y: bool) { %1 = %y; %1 };\n%1"), "t:3:1: error: %1 is not defined here [relay-E039]" },
    { MAIN("% = 1; %x"), "error: expected a name or a number after `%` [relay-E032]" },
    { MAIN("%0x = 1; %x"), "error: expected a name or a number after `%` [relay-E032]" },
    { MAIN("%0 = %x;\n%0 = %x;\n%0"), "t:3:1: error: %0 is defined twice [relay-E051]" },
    { MAIN("%x.0"), "t:2:4: error: only a tuple has fields such as .0 [relay-E037]" },
    { MAIN("%0 = (%x, %x);\n%0.2"), "t:3:4: error: there is no field 2; the tuple has 2 fields [relay-E037]" },
    { MAIN("%0 = (%x, %x);\n%0.a"), "expected the number of a field after the point, as in %0.1 [relay-E037]" },
    { MAIN("exp(%x).1"), "only a tuple has fields such as .1 [relay-E037]" },
    { MAIN("exp(%x).k"), "expected the number of a field after the point, as in %0.1 [relay-E037]" },
    { MAIN("%0 = None;\n%0"), "t:2:6: error: `None` can only be an argument of a call, for an absent operand "
                              "[relay-E033]" },
    { MAIN("(%x, None)"), "`None` can only be an argument of a call, for an absent operand [relay-E033]" },
    { MAIN("%0 = (%x, None); %x"), "`None` can only be an argument of a call, for an absent operand [relay-E033]" },
    { MAIN("None"), "`None` can only be an argument of a call, for an absent operand [relay-E033]" },
    /* calls */
    { MAIN("%x(%x)"), "t:2:1: error: only a function can be called [relay-E038]" },
    { MAIN("nn.leaky_relu(%x, alpha=0.1, alpha=0.2)"), "t:2:30: error: attribute alpha is given twice [relay-E040]" },
    { MAIN("nn.relu(%x, alpha=0.1)"), "t:2:13: error: nn.relu has no attributes, so it cannot have alpha "
                                      "[relay-E041]" },
    { MAIN("nn.dense(%x, %x, unit=4)"), "ir-E020" },
    { MAIN("nn.rellu(%x)"), "t:2:1: error: unknown operator nn.rellu; did you mean nn.relu? [relay-E043]" },
    { MAIN("my.own.operator(%x, mode=\"fast\", k=[1, 2])"),
      "t:2:1: error: unknown operator my.own.operator [relay-E043]" },
    { MAIN("tuple(%x)"), "t:2:1: error: unknown operator tuple" },
    { MAIN("cast(%x)"), "t:2:1: error: cast needs the attribute dtype [relay-E044]" },
    { MAIN("@f(%x)\n}\ndef @f(%a: bool, %b: bool) {\n%a"),
      "t:2:1: error: @f takes 2 arguments, but 1 are given [relay-E045]" },
    { MAIN("@f(%x)\n}\ndef @f(%a: bool) {\n%a"),
      "t:2:1: error: argument 0 of the call is Tensor[(n, 4), float32], but the function takes bool [relay-E049]" },
    { MAIN("@f(%x, %x)\n}\ndef @f(%a: Tensor[(k, 4), float32], %b: Tensor[(k + 1, 4), float32]) {\n%a"),
      "argument 1 of the call is" },
    { MAIN("@f(%x)"), "t:2:1: error: there is no function @f [relay-E048]" },
    { "def @main(%n: int64, %c: bool, %x: float32) {\n"
      "%0 = if (%c) { %1 = bind_extent(%n, extent=[q]); %x } else { %x };\n"
      "broadcast_to(%0, shape=[q])\n}",
      "t:3:25: error: `q` is unknown here; declare it before its use [ir-E003]" },
    { "def @main(%x: Tensor[(2*block, 3), float32]) { nn.relu(%x) }",
      "t:1:25: error: `block` is unknown here; declare it before its use [ir-E003]" },
    { MAIN("%0 = fn (%y: float32) { %y };\n%0(%x)"), "op-E012" },
    { MAIN("%x + relu"),
      "t:2:6: error: 'relu' is not a value; values are %names, constants, constructors and calls, op(...) "
      "[relay-E046]" },
    { MAIN("\"text\""), "t:2:1: error: a string is not a tensor; strings can only be attributes [relay-E046]" },
    { MAIN("%x + "), "t:3:1: error: expected an expression, found '}' [relay-E047]" },
    { "def @main() { 1 +", "expected an expression, found the end of the text [relay-E047]" },
    { MAIN("%0 = exp(%x);"),
      "t:3:1: error: the block has no result; end it with an expression without `;` and without a name [relay-E052]" },
    { MAIN("exp(%x) %x"), "t:2:9: error: expected `}`, found `%` [ir-E001]" },
    { MAIN("exp(%x"), "t:3:1: error: expected `)`, found `}` [ir-E001]" },
    { MAIN("exp()"), "op-E001" },
    { MAIN("exp(None)"), "op-E001" },
    { MAIN("concatenate((%x, None))"), "concatenate: operand 1 is None, but it is required [op-E001]" },
    { MAIN("seq.of((%x, None))"), "seq.of: operand 1 is None, but it is required [op-E001]" },
    { MAIN("einsum((%x), equation=None)"), "attribute equation is None, but it is required [op-E007]" },
    { MAIN("cast(%x, dtype=None)"), "attribute dtype is None, but it is required [op-E007]" },
    { "def @main(%x: Tensor[(4), uint8]) { image.decode(%x, pixel_format=None) }",
      "pixel_format is \"None\"; RGB, BGR and Grayscale are known [op-E007]" },
    { MAIN("string.translate(%x, to=None)"), "from, to and remove must be texts, not None [op-E007]" },
    { MAIN("%x + 1"), "t:2:4: error:" },
    { "def @main(%x: bool", "ir-E001" },
    { "def @main(%x: bool) { /* open", "ir-E002" },
};
/* clang-format on */

static void test_rows(void **state)
{
    (void)state;
    int n_wrong = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        module m;
        module_open(&m);
        tn_status s = tn_relay_parse(&m.g, "t", rows[i].text, strlen(rows[i].text), NULL);
        const char *all = module_diag(&m);
        size_t first = strcspn(all, "\n");
        const char *at = strstr(all, rows[i].want);
        if (s == TN_OK || !at || at >= all + first) {
            print_error("row %zu: %s\nwant: %s\ngot:  %s", i, rows[i].text, rows[i].want, all);
            n_wrong++;
        }
        module_close(&m);
    }
    assert_int_equal(n_wrong, 0);
}

/* One run reports every independent mistake, and not what follows from one. */
static void test_many(void **state)
{
    (void)state;
    static const char text[] =
        MAIN("%0 = nn.rellu(%x);\n%1 = exp(%0) + %2;\n%3 = reshape(%x);\n%4 = add(%3, %1);\n(%4, %5)");
    module m;
    module_open(&m);
    assert_int_equal(tn_relay_parse(&m.g, "t", text, sizeof text - 1, NULL), TN_FAIL);
    assert_int_equal(m.ctx.n_error, 4);
    assert_int_equal(m.ctx.diag[0].loc.line, 2);
    assert_int_equal(m.ctx.diag[1].loc.line, 3);
    assert_int_equal(m.ctx.diag[2].loc.line, 4);
    assert_int_equal(m.ctx.diag[3].loc.line, 6);
    module_close(&m);
}

/* Mistakes without end are cut short; nesting without end is refused. */
static void test_limits(void **state)
{
    (void)state;
    static const char *const parts[][3] = {
        {"def @main() {\n", "%x;\n", "relay-E008"},
        {"def @main(%x: float32) {\n", "exp(", "relay-E007"},
        {"def @main(%x: float32) {\n", "(", "relay-E007"},
        {"def @main(%x: float32) {\n", "- ", "relay-E007"},
        {"def @main(%x: float32) {\n", "fn () { ", "relay-E007"},
        {"def @main(%x: ", "(", "relay-E007"},
        {"def @main(%x: ", "fn (", "relay-E007"},
        {"def @main(%x: float32) { exp(", "%x, ", "relay-E042"},
        {"def @main(%x: float32) { (", "%x, ", "relay-E042"},
        {"def @main(%x: (", "bool, ", "relay-E013"},
        {"def @main(%x: Tensor[(", "1, ", "relay-E010"},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        tn_buf b = {0};
        module m;
        module_open(&m);
        tn_buf_str(&b, parts[i][0]);
        for (int k = 0; k < 100000; k++)
            if (i == 0)
                tn_buf_printf(&b, "%%%d = exp(%%y%d);\n", k, k);
            else
                tn_buf_str(&b, parts[i][1]);
        assert_int_equal(tn_relay_parse(&m.g, "t", b.at, b.n, NULL), TN_FAIL);
        assert_non_null(strstr(module_diag(&m), parts[i][2]));
        assert_true(m.ctx.n_error <= 21);
        tn_buf_deinit(&b);
        module_close(&m);
    }
}

/* A clause that remains in several places is read again in each, but not without end. */
static void test_overlap(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        tn_buf b = {0};
        module m;
        module_open(&m);
        tn_buf_str(&b, "def @main(%l: List[float32]) -> int32 {\n"
                       "match ((%l, %l)) { (Cons(_, _), Nil) => 1, (_, Cons(_, _)) => {");
        for (int i = 0; i < 600000 * (k + 1); i++)
            tn_buf_str(&b, " ");
        tn_buf_str(&b, "2 }, (Nil, Nil) => 3 } }");
        assert_int_equal(tn_relay_parse(&m.g, "t", b.at, b.n, NULL), k ? TN_FAIL : TN_OK);
        if (k)
            assert_non_null(strstr(module_diag(&m), "more than 1048576 bytes were read again [relay-E226]"));
        tn_buf_deinit(&b);
        module_close(&m);
    }
}

/* Parameters must be as large as the constants' types. */
static void test_params(void **state)
{
    (void)state;
    static const char text[] = MAIN("%x + meta[relay.Constant][1] /* w (4) */");
    float w[3] = {0};
    tn_blob blob = {.at = w, .n = sizeof w};
    const tn_blob *both[2] = {&blob, &blob};
    for (size_t n = 1; n <= 2; n++) {
        module m;
        module_open(&m);
        assert_int_equal(tn_relay_parse(&m.g, "t", text, sizeof text - 1,
                                        &(tn_relay_metadata){.constant = both, .n_constant = n}),
                         TN_FAIL);
        assert_non_null(strstr(module_diag(&m), n == 1 ? "needs 16 bytes, but its parameter has 0"
                                                       : "needs 16 bytes, but its parameter has 12"));
        assert_string_equal(m.ctx.diag[0].id, "relay-E034");
        module_close(&m);
    }
}

static void test_warnings(void **state)
{
    (void)state;
    static const char text[] =
        "def @main(%x: bool, Compiler=\"dnnl\", shape=[1, (2)]) { %x }\n#[metadata]\n{ }{{";
    module m;
    module_open(&m);
    assert_int_equal(tn_relay_parse(&m.g, "t", text, sizeof text - 1, NULL), TN_OK);
    const char *all = module_diag(&m);
    assert_non_null(
        strstr(all, "t:1:30: warning: the attribute Compiler of a global function is ignored [relay-W003]"));
    assert_non_null(strstr(all, "t:2:3: warning: the metadata section is ignored; constants come from the "
                                ".params file beside the text [relay-W001]"));
    assert_int_equal(m.ctx.n_diag, 3);
    module_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),    cmocka_unit_test(test_many),   cmocka_unit_test(test_limits),
        cmocka_unit_test(test_overlap), cmocka_unit_test(test_params), cmocka_unit_test(test_warnings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
