/* What every module knows: types and functions, in Relay text. A module has those that it uses, as functions of its own
 * (parse_generic.c); one that defines a name itself does not get that one. */
#include "relay/parse.h"

#include <string.h>

const char *const tn_prelude_types[] = {
    "type List[A] { Cons(A, List[A]), Nil }",
    "type Option[A] { Some(A), Nothing }",
    "type Tree[A] { Rose(A, List[Tree[A]]) }",
    NULL,
};

static const struct {
    const char *name, *text;
} functions[] = {
    {"id", "def @id[A](%x: A) { %x }"},
    {"compose", "def @compose[A, B, C](%f: fn (B) -> C, %g: fn (A) -> B) { fn (%x: A) { %f(%g(%x)) } }"},
    {"hd", "def @hd[A](%xs: List[A]) { match? (%xs) { Cons(%x, _) => { %x } } }"},
    {"tl", "def @tl[A](%xs: List[A]) { match? (%xs) { Cons(_, %t) => { %t } } }"},
    {"nth", "def @nth[A](%xs: List[A], %n: int32) -> A {\n"
            "  if (%n == 0) { @hd(%xs) } else { @nth(@tl(%xs), %n - 1) }\n}"},
    {"update",
     "def @update[A](%xs: List[A], %n: int32, %v: A) -> List[A] {\n"
     "  if (%n == 0) { Cons(%v, @tl(%xs)) } else { Cons(@hd(%xs), @update(@tl(%xs), %n - 1, %v)) }\n}"},
    {"length", "def @length[A](%xs: List[A]) -> int32 { @length_from(%xs, 0) }"},
    {"length_from", "def @length_from[A](%xs: List[A], %n: int32) -> int32 {\n"
                    "  match (%xs) { Cons(_, %t) => { @length_from(%t, %n + 1) }, Nil => { %n } }\n}"},
    {"map", "def @map[A, B](%f: fn (A) -> B, %xs: List[A]) -> List[B] {\n"
            "  match (%xs) { Cons(%x, %t) => { Cons(%f(%x), @map(%f, %t)) }, Nil => { Nil } }\n}"},
    {"filter", "def @filter[A](%f: fn (A) -> bool, %xs: List[A]) -> List[A] {\n"
               "  match (%xs) {\n"
               "    Cons(%x, %t) => { if (%f(%x)) { Cons(%x, @filter(%f, %t)) } else { @filter(%f, %t) } },\n"
               "    Nil => { Nil }\n  }\n}"},
    {"foldl", "def @foldl[A, B](%f: fn (A, B) -> A, %acc: A, %xs: List[B]) -> A {\n"
              "  match (%xs) { Cons(%x, %t) => { @foldl(%f, %f(%acc, %x), %t) }, Nil => { %acc } }\n}"},
    {"foldr", "def @foldr[A, B](%f: fn (A, B) -> B, %bcc: B, %xs: List[A]) -> B {\n"
              "  match (%xs) { Cons(%x, %t) => { %f(%x, @foldr(%f, %bcc, %t)) }, Nil => { %bcc } }\n}"},
    {"foldr1", "def @foldr1[A](%f: fn (A, A) -> A, %xs: List[A]) -> A {\n"
               "  match? (%xs) { Cons(%x, Nil) => { %x }, Cons(%x, %t) => { %f(%x, @foldr1(%f, %t)) } }\n}"},
    {"concat", "def @concat[A](%xs: List[A], %ys: List[A]) -> List[A] {\n"
               "  match (%xs) { Cons(%x, %t) => { Cons(%x, @concat(%t, %ys)) }, Nil => { %ys } }\n}"},
    {"sum", "def @sum(%xs: List[int32]) -> int32 { @foldl(fn (%a: int32, %x: int32) { %a + %x }, 0, %xs) }"},
    {"rev", "def @rev[A](%xs: List[A]) -> List[A] { @rev_onto(%xs, Nil) }"},
    {"rev_onto", "def @rev_onto[A](%xs: List[A], %ys: List[A]) -> List[A] {\n"
                 "  match (%xs) { Cons(%x, %t) => { @rev_onto(%t, Cons(%x, %ys)) }, Nil => { %ys } }\n}"},
    {"zip", "def @zip[A, B](%xs: List[A], %ys: List[B]) -> List[(A, B)] {\n"
            "  match ((%xs, %ys)) {\n"
            "    (Cons(%x, %t), Cons(%y, %u)) => { Cons((%x, %y), @zip(%t, %u)) },\n"
            "    _ => { Nil }\n  }\n}"},
    {"map_accuml",
     "def @map_accuml[A, B, C](%f: fn (A, B) -> (A, C), %acc: A, %xs: List[B]) -> (A, List[C]) {\n"
     "  match (%xs) {\n"
     "    Cons(%x, %t) => {\n"
     "      %r = %f(%acc, %x);\n      %s = @map_accuml(%f, %r.0, %t);\n"
     "      (%s.0, Cons(%r.1, %s.1))\n    },\n"
     "    Nil => { (%acc, Nil) }\n  }\n}"},
    {"map_accumr",
     "def @map_accumr[A, B, C](%f: fn (A, B) -> (A, C), %acc: A, %xs: List[B]) -> (A, List[C]) {\n"
     "  match (%xs) {\n"
     "    Cons(%x, %t) => {\n"
     "      %r = @map_accumr(%f, %acc, %t);\n      %s = %f(%r.0, %x);\n"
     "      (%s.0, Cons(%s.1, %r.1))\n    },\n"
     "    Nil => { (%acc, Nil) }\n  }\n}"},
    {"iterate", "def @iterate[A](%f: fn (A) -> A, %n: int32, %x: A) -> A {\n"
                "  if (%n == 0) { %x } else { @iterate(%f, %n - 1, %f(%x)) }\n}"},
    {"tmap", "def @tmap[A, B](%f: fn (A) -> B, %t: Tree[A]) -> Tree[B] {\n"
             "  match (%t) { Rose(%x, %sub) => {\n"
             "    Rose(%f(%x), @map(fn (%s: Tree[A]) { @tmap(%f, %s) }, %sub)) } }\n}"},
    {"size", "def @size[A](%t: Tree[A]) -> int32 {\n"
             "  match (%t) { Rose(_, %sub) => { @sum(@map(fn (%s: Tree[A]) { @size(%s) }, %sub)) + 1 } }\n}"},
};

const char *tn_prelude_function(const char *name)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name) == 0)
            return functions[i].text;
    return NULL;
}
