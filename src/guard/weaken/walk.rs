//! The walk through a file: one pass in the order of reading, with a stack of what is open.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use super::constant;
use super::model::{Call, Check, Form, Given, Mark, Suite, Unit, bag, shown, strings};
use super::reach::{End, certain};
use super::tree::{Token, Tree, digest, hash};
use super::truth;

/// So many tokens of a file are read in all, those of what nests again and again.
const MOST_READ: usize = 12_000_000;

/// So many tokens of a test or a function are read.
const MOST_OF_A_UNIT: usize = 20_000;

/// So many names of what a file takes from elsewhere are kept, and so many mocks of a class or of a file.
const MOST_TAKEN: usize = 2_000;
const MOST_MOCKS: usize = 50;

/// What repeats, in whatever language.
const LOOPS: [&str; 9] = [
    "for_statement",
    "for_expression",
    "for_in_statement",
    "while_statement",
    "while_expression",
    "loop_expression",
    "list_comprehension",
    "generator_expression",
    "dictionary_comprehension",
];

/// What may hold the cases of tests, or make tests, beside them.
const BESIDE: [&str; 8] = [
    "assignment",
    "macro_invocation",
    "const_item",
    "static_item",
    "lexical_declaration",
    "variable_declaration",
    "var_declaration",
    "const_declaration",
];

/// Something that is open at a place of the walk.
#[derive(Debug, Clone)]
enum Frame {
    /// A test or a function, by its place in the suite and its node.
    Unit(usize, usize),
    /// A class, a module or a group of tests, with the mark that skips it, and what it replaces by mocks.
    Scope(String, Option<Mark>, Vec<Mark>),
    /// A condition.
    Guard,
    /// What fails here is caught and forgotten.
    Caught,
    /// What stands here is never run.
    Dead,
    /// A function that stands in dead code may be called from elsewhere; how much was dead around it.
    Live(usize),
}

pub(super) struct Walk<'t> {
    pub(super) tree: &'t Tree<'t>,
    pub(super) suite: Suite,
    /// Names of the functions that the file has beside its tests.
    pub(super) own: HashSet<u64>,
    /// Names that come from places where helpers of tests live.
    pub(super) foreign: HashSet<u64>,
    frames: Vec<(usize, Frame)>,
    guards: usize,
    caughts: usize,
    deads: usize,
    left: usize,
    /// From where to where the code is dead, once the walk is there.
    later: Vec<(usize, usize)>,
    /// Up to where any dead code reaches that was begun.
    dead_to: usize,
    /// What is never run, once the walk is there.
    never: HashSet<usize>,
    /// What stands under a condition, once the walk is there.
    guarded: HashSet<usize>,
    /// Where failures are caught and forgotten, once the walk is there.
    forgotten: HashSet<usize>,
    /// Names that were taken from a library by which a test skips itself.
    pub(super) skippers: HashSet<u64>,
    /// Names that the file gave to marks, and how each skips; none where it does not, or not always.
    pub(super) off: HashMap<u64, Option<String>>,
    /// Groups of tests that are run with cases end here.
    pub(super) cases_until: usize,
    /// How often a test has each of its words.
    mentioned: Option<(usize, HashMap<u64, usize>)>,
    /// Attributes that stand before the next item.
    pub(super) attributes: Vec<usize>,
    /// Anything may come from a place where helpers of tests live.
    pub(super) foreign_all: bool,
    /// The module of tests that is open ends here.
    pub(super) tests_until: usize,
    /// What stands beside the tests is read up to here.
    beside_until: usize,
    /// A class that no runner takes for one of tests, and where it ends.
    pub(super) loner: Option<(usize, Mark)>,
    /// How often a condition was held against the test that it stands in.
    pub(super) held: Cell<usize>,
    /// What is defined once more further down, by its place: the line of what is run in its place.
    pub(super) again: HashMap<usize, u32>,
    /// The file's path.
    pub(super) path: &'t str,
}

impl<'t> Walk<'t> {
    /// Walks the whole file and tells `enter` of each node; none where it is more than can be read.
    pub(super) fn through(
        tree: &'t Tree<'t>,
        path: &'t str,
        own: HashSet<u64>,
        enter: fn(&mut Self, usize),
    ) -> Option<Suite> {
        let mut walk = Self {
            tree,
            suite: Suite::default(),
            own,
            foreign: HashSet::new(),
            frames: Vec::new(),
            guards: 0,
            caughts: 0,
            deads: 0,
            left: MOST_READ,
            later: Vec::new(),
            dead_to: 0,
            never: HashSet::new(),
            guarded: HashSet::new(),
            forgotten: HashSet::new(),
            skippers: HashSet::new(),
            off: HashMap::new(),
            cases_until: 0,
            mentioned: None,
            attributes: Vec::new(),
            foreign_all: false,
            tests_until: 0,
            beside_until: 0,
            loner: None,
            held: Cell::new(0),
            again: HashMap::new(),
            path,
        };
        for at in 0..tree.len() {
            walk.close(at);
            if walk.never.remove(&at) {
                walk.dead(at);
            }
            if walk.forgotten.remove(&at) {
                walk.caught(at);
            }
            if walk.guarded.remove(&at) {
                walk.open(walk.tree.node(at).last, Frame::Guard);
            }
            if LOOPS.contains(&tree.kind(at))
                && let Some(unit) = walk.unit()
            {
                unit.loops += 1;
            }
            if BESIDE.contains(&tree.kind(at)) && !walk.inside() && walk.beside_until <= at {
                walk.beside_until = tree.node(at).last;
                let tokens = walk.tokens(at);
                walk.suite.beside.extend(bag(&tokens));
            }
            enter(&mut walk, at);
        }
        walk.suite.follow();
        (walk.left > 0).then_some(walk.suite)
    }

    fn close(&mut self, at: usize) {
        while self.frames.last().is_some_and(|(until, _)| *until <= at) {
            match self.frames.pop() {
                Some((_, Frame::Guard)) => self.guards -= 1,
                Some((_, Frame::Caught)) => self.caughts -= 1,
                Some((_, Frame::Dead)) => self.deads -= 1,
                Some((_, Frame::Live(deads))) => self.deads = deads,
                _ => {}
            }
        }
        while let Some((from, until)) = self.later.last().copied()
            && from <= at
        {
            self.later.pop();
            if at < until && !self.is_dead_to(until) {
                // Where what is open here ends first, it goes on behind that.
                let ends = self.frames.last().map_or(until, |(outer, _)| *outer);
                if ends < until {
                    self.later.push((ends, until));
                }
                self.open(until, Frame::Dead);
            }
        }
    }

    /// Frames must nest: one that would outlive the one it stands in ends with it.
    fn open(&mut self, until: usize, frame: Frame) {
        let until = self.frames.last().map_or(until, |(outer, _)| until.min(*outer));
        match frame {
            Frame::Guard => self.guards += 1,
            Frame::Caught => self.caughts += 1,
            Frame::Dead => {
                self.deads += 1;
                self.dead_to = self.dead_to.max(until);
            }
            _ => {}
        }
        self.frames.push((until, frame));
    }

    pub(super) fn tokens(&mut self, at: usize) -> Vec<Token<'t>> {
        if self.left == 0 {
            return Vec::new();
        }
        let tokens = self.tree.tokens(at);
        self.left = self.left.saturating_sub(tokens.len());
        tokens
    }

    /// The innermost test or function that is open.
    pub(super) fn unit(&mut self) -> Option<&mut Unit> {
        let at = self.unit_at()?;
        self.suite.units.get_mut(at)
    }

    fn unit_at(&self) -> Option<usize> {
        self.frames.iter().rev().find_map(|(_, frame)| if let Frame::Unit(at, _) = frame { Some(*at) } else { None })
    }

    /// Whether a test or function is open here.
    pub(super) fn inside(&self) -> bool {
        self.unit_at().is_some()
    }

    /// The name of the innermost class, module or group, if one is open.
    pub(super) fn scoped(&self) -> bool {
        self.frames.iter().any(|(_, frame)| matches!(frame, Frame::Scope(..)))
    }

    pub(super) fn scope(&mut self, at: usize, name: String, skip: Option<Mark>) {
        self.open(self.tree.node(at).last, Frame::Scope(name, skip, Vec::new()));
    }

    /// The scope that was opened last replaces these.
    pub(super) fn mocked(&mut self, marks: Vec<Mark>) {
        if let Some((_, Frame::Scope(_, _, mocks))) = self.frames.last_mut() {
            mocks.extend(marks.into_iter().take(MOST_MOCKS));
        }
    }

    /// Begins a test or a function; its name is qualified by what is open around it.
    pub(super) fn begin(&mut self, at: usize, name: &str, test: bool) {
        let mut parts: Vec<&str> = Vec::new();
        let (mut skip, mut mocks) = (None, Vec::new());
        for (_, frame) in &self.frames {
            match frame {
                Frame::Scope(name, mark, marks) => {
                    parts.push(name);
                    mocks.extend(marks.iter().cloned());
                    skip = skip.or_else(|| mark.clone());
                }
                Frame::Unit(unit, _) => {
                    parts = self.suite.units.get(*unit).map(|unit| vec![unit.name.as_str()]).unwrap_or_default();
                }
                _ => {}
            }
        }
        parts.push(name);
        let name = parts.join("::");
        if test && let Some(outer) = self.unit() {
            outer.holds_tests = true;
        }
        let tokens = if self.left == 0 { Vec::new() } else { self.tree.tokens_within(at, MOST_OF_A_UNIT) };
        self.left = self.left.saturating_sub(tokens.len());
        let (asks, skip) = if skip.as_ref().is_some_and(Mark::is_asked) { (skip, None) } else { (None, skip) };
        let (limited, skip) = if skip.as_ref().is_some_and(Mark::is_limit) { (skip, None) } else { (None, skip) };
        let unit = Unit {
            name,
            test,
            line: self.tree.line(at),
            skip,
            limited,
            asks,
            exported: self.path.ends_with(".go"),
            plain: !test && self.unit().is_none() && self.is_plain(at),
            mocks,
            body: digest(&tokens),
            tokens: bag(&tokens),
            strings: strings(&tokens),
            ..Unit::default()
        };
        let index = self.suite.units.len();
        self.suite.units.push(unit);
        self.open(self.tree.node(at).last, Frame::Unit(index, at));
    }

    /// A function in the test, which may stand in for another: one that calls nothing gives back what the test says.
    pub(super) fn stands_in(&mut self, at: usize, name: &str, body: usize) {
        let line = self.tree.line(at);
        let (links, _) = truth::links(&self.tree.tokens_within(body, 200));
        if self.deads == 0
            && links.is_empty()
            && let Some(unit) = self.unit()
            && unit.locals.len() < MOST_MOCKS
        {
            unit.locals.push(Mark { line, what: name.to_owned() });
        }
    }

    /// Whether a function gives back what is written out in it.
    fn is_plain(&self, at: usize) -> bool {
        let function = self.tree.field(at, "value").unwrap_or(at);
        let body = self.tree.field(function, "body");
        body.is_some_and(|body| truth::links(&self.tree.tokens_within(body, 200)).0.is_empty())
    }

    /// The test ends here where this holds.
    pub(super) fn leaves(&mut self, at: usize, condition: &[Token<'t>]) {
        let check = truth::alone(self.tree.line(at), condition);
        if self.deads == 0
            && check.form == Form::Differs
            && !check.trivial
            && let Some(unit) = self.unit()
        {
            unit.exits.push((check.subject, check.expected));
        }
    }

    /// The test ends here, without a failure, where something fails in this block.
    pub(super) fn evades(&mut self, block: usize) {
        let tokens = self.tree.tokens_within(block, 40);
        let mark = Mark { line: self.tree.line(block), what: shown(&tokens) };
        if self.deads == 0
            && let Some(unit) = self.unit()
        {
            unit.evaded.push(mark);
        }
    }

    /// What stands here is caught and forgotten, further on.
    pub(super) fn forgets(&mut self, at: usize) {
        self.forgotten.insert(at);
    }

    /// What stands under a condition, further on.
    pub(super) fn guard(&mut self, at: usize) {
        self.guarded.insert(at);
    }

    pub(super) fn caught(&mut self, at: usize) {
        self.open(self.tree.node(at).last, Frame::Caught);
    }

    pub(super) fn dead(&mut self, at: usize) {
        self.open(self.tree.node(at).last, Frame::Dead);
    }

    /// Whether it is dead up to there already.
    fn is_dead_to(&self, until: usize) -> bool {
        self.deads > 0 && until <= self.dead_to
    }

    fn dead_from(&mut self, from: usize, until: usize) {
        if !self.is_dead_to(until) {
            self.later.push((from, until));
        }
    }

    /// What follows up to the end of the block that this statement stands in is never run.
    pub(super) fn dead_after(&mut self, at: usize) {
        if let Some(block) = self.tree.up(at).filter(|_| self.inside()) {
            self.dead_from(self.tree.node(at).last, self.tree.node(block).last);
        }
    }

    /// What follows a statement that gives back is never run: up to the end of the function, where it does so each time.
    pub(super) fn returns(&mut self, statement: usize) {
        match certain(self.tree, statement, End::Return).filter(|_| self.inside()) {
            Some(function) => self.dead_from(self.tree.node(statement).last, self.tree.node(function).last),
            None => self.dead_after(statement),
        }
    }

    /// A statement that skips: the test, where it is run each time that the test is; else what follows it in its block.
    pub(super) fn skips(&mut self, statement: usize, what: &str) {
        let own = |function: usize, unit: usize| {
            // In a list of arguments, of the call that makes the test.
            let list = self.tree.up(function).filter(|list| self.tree.kind(*list).starts_with("argument"));
            function == unit || list.and_then(|list| self.tree.up(list)) == Some(unit)
        };
        let here = certain(self.tree, statement, End::Skip);
        let test = self.unit_node().is_some_and(|unit| here.is_some_and(|function| own(function, unit)));
        let line = self.tree.line(statement);
        if test
            && !self.is_dead()
            && let Some(unit) = self.unit()
        {
            unit.skip = Some(Mark { line, what: what.to_owned() });
        }
        match here.filter(|_| self.inside()) {
            Some(function) => self.dead_from(self.tree.node(statement).last, self.tree.node(function).last),
            None => self.dead_after(statement),
        }
    }

    /// What is never run of a condition that is as it is. It tells whether the condition depends on something.
    pub(super) fn chooses(&mut self, at: usize) -> bool {
        let Some(condition) = self.tree.field(at, "condition").filter(|_| self.inside()) else { return true };
        let never = match constant::constant(&self.tree.tokens_within(condition, 100)) {
            Some(true) => "alternative",
            Some(false) => "consequence",
            None => return true,
        };
        self.never.extend(self.tree.children(at).filter(|child| self.tree.node(*child).field == never));
        false
    }

    /// What is never run, further on.
    pub(super) fn never(&mut self, at: usize) {
        self.never.insert(at);
    }

    /// A loop over nothing that is written out, or under a condition that never holds.
    pub(super) fn repeats(&mut self, over: Option<usize>, condition: Option<usize>, body: Option<usize>) {
        let nothing = over.is_some_and(|over| constant::is_nothing(&self.tree.tokens_within(over, 30)))
            || condition.is_some_and(|what| constant::constant(&self.tree.tokens_within(what, 100)) == Some(false));
        self.never.extend(body.filter(|_| nothing && self.inside()));
    }

    /// A function in a test: nothing of it is run where nobody names it. `unnamed` are mentions that call nothing.
    pub(super) fn nested(&mut self, at: usize, body: usize, name: &str, unnamed: usize) {
        if !self.inside() {
            return;
        }
        if self.mentions(name).is_some_and(|times| times <= 1 + unnamed) {
            self.dead(body);
        } else if self.deads > 0 {
            self.open(self.tree.node(at).last, Frame::Live(self.deads));
            self.deads = 0;
        }
    }

    /// How often the test or function that is open has this word; none where it is too long to be known.
    pub(super) fn mentions(&mut self, name: &str) -> Option<usize> {
        let index = self.unit_at()?;
        if self.mentioned.as_ref().is_none_or(|(of, _)| *of != index) {
            let unit = self.suite.units.get(index)?;
            let mut words = HashMap::new();
            for token in &unit.tokens {
                *words.entry(*token).or_insert(0) += 1;
            }
            self.left = self.left.saturating_sub(unit.tokens.len());
            self.mentioned = Some((index, words));
        }
        let (_, words) = self.mentioned.as_ref()?;
        let long = self.suite.units.get(index)?.tokens.len() * 4 > MOST_OF_A_UNIT;
        (!long).then(|| words.get(&hash(name)).copied().unwrap_or(0))
    }

    /// The node of the innermost test or function that is open.
    pub(super) fn unit_node(&self) -> Option<usize> {
        self.frames.iter().rev().find_map(|(_, frame)| if let Frame::Unit(_, at) = frame { Some(*at) } else { None })
    }

    pub(super) fn is_dead(&self) -> bool {
        self.deads > 0
    }

    /// Adds checks to the test or function that is open.
    pub(super) fn add(&mut self, at: usize, checks: Vec<Check>) {
        let (guarded, caught, dead) = (self.guards > 0, self.caughts > 0, self.deads > 0);
        let line = self.tree.line(at);
        let Some(unit) = self.unit() else { return };
        for mut check in checks {
            let mark = Mark { line, what: check.shown.clone() };
            if dead {
                unit.dead.push(mark);
                continue;
            }
            if caught && check.form != Form::Nothing {
                unit.caught.push(mark);
            }
            check.guarded = guarded;
            unit.checks.push(check);
        }
    }

    /// Something that must be true.
    pub(super) fn add_truth(&mut self, at: usize, tokens: &[Token<'t>]) {
        let line = self.tree.line(at);
        self.add(at, truth::truth(line, tokens));
    }

    /// Something that is looked at, and only said.
    pub(super) fn add_only_told(&mut self, at: usize, condition: &[Token<'t>], shown: &[Token<'t>]) {
        if self.inside() {
            self.add(at, vec![truth::only_told(self.tree.line(at), condition, shown)]);
        }
    }

    pub(super) fn add_form(
        &mut self,
        at: usize,
        form: Form,
        all: &[Token<'t>],
        subject: &[Token<'t>],
        expected: &[Token<'t>],
    ) {
        let mut check = Check::new(self.tree.line(at), form, all);
        truth::sides(&mut check, subject, expected);
        self.add(at, vec![check]);
    }

    /// A name is given a value.
    pub(super) fn give(&mut self, name: usize, value: usize) {
        let tokens = self.tokens(value);
        let name = hash(self.tree.words(name));
        self.has_rows(value);
        let (links, roots) = truth::links(&tokens);
        let (calls, made) = (truth::called(&tokens), truth::made(&tokens));
        let literal = self.is_written_out(value, &tokens);
        let parts = truth::parts(truth::bare(&tokens));
        let names = bag(&tokens);
        let given = Given { calls, made, links, roots, names, literal, parts, again: false };
        if let Some(unit) = self.unit() {
            let again = unit.given.contains_key(&name);
            unit.given.insert(name, Given { again, ..given });
        }
    }

    /// A value is taken apart into all of its parts.
    pub(super) fn unpacks(&mut self, value: usize) {
        let tokens = self.tokens(value);
        if self.deads == 0
            && let Some(unit) = self.unit()
        {
            unit.unpacked.push(bag(truth::bare(&tokens)));
        }
    }

    /// A result that is unwrapped: it fails where there is none.
    pub(super) fn soft(&mut self, subject: u64) {
        if self.deads == 0
            && let Some(unit) = self.unit()
        {
            unit.soft.push(subject);
        }
    }

    /// A call that may check, out of sight.
    pub(super) fn maybe(&mut self) {
        if self.deads == 0
            && let Some(unit) = self.unit()
        {
            unit.maybe += 1;
        }
    }

    /// The file takes something from elsewhere, by this name.
    pub(super) fn takes(&mut self, here: &str, from: &str, there: &str) {
        if self.suite.taken.len() < MOST_TAKEN {
            self.suite.taken.insert(hash(here), (from.to_owned(), there.to_owned()));
        }
    }

    /// The file replaces a module, or these names of it.
    pub(super) fn replaces_module(&mut self, at: usize, what: &str, names: Option<Vec<String>>) {
        if self.suite.replaced.len() < MOST_MOCKS {
            self.suite.replaced.push((Mark { line: self.tree.line(at), what: what.to_owned() }, names));
        }
    }

    /// Something is replaced by a mock in the test that is open.
    pub(super) fn replaces(&mut self, at: usize, what: String) {
        let line = self.tree.line(at);
        if self.deads == 0
            && let Some(unit) = self.unit()
        {
            unit.mocks.push(Mark { line, what });
        }
    }

    /// A call of a function of this file, which may turn out to check.
    pub(super) fn call(&mut self, at: usize, name: &str) {
        let name = hash(name);
        if self.deads > 0 || !self.inside() {
            return;
        }
        if self.foreign.contains(&name) {
            self.maybe();
        } else if self.own.contains(&name) {
            let tokens = self.tokens(at);
            let line = self.tree.line(at);
            let guarded = self.guards > 0;
            let call = Call { name, line, guarded, text: digest(&tokens), bag: bag(&tokens), shown: shown(&tokens) };
            if let Some(unit) = self.unit() {
                unit.calls.push(call);
            }
        }
    }
}

/// Whether a name says that a function checks something: one of its words does.
pub(super) fn says_check(name: &str) -> bool {
    const WORDS: [&str; 14] = [
        "assert", "asserts", "check", "checks", "verify", "verifies", "expect", "expects", "validate", "ensure",
        "require", "should", "must", "compare",
    ];
    let mut word = String::new();
    let mut hit = false;
    let mut lower = false;
    for c in name.chars().chain(['_']) {
        if !c.is_alphabetic() || (c.is_uppercase() && lower) {
            hit |= WORDS.contains(&word.as_str());
            word.clear();
        }
        lower = c.is_lowercase();
        if c.is_alphabetic() {
            word.extend(c.to_lowercase());
        }
    }
    hit
}
