/// A broken invariant.
struct Violation: Error, CustomStringConvertible {
    var promise: String
    var description: String { "not so: \(promise)" }
}

func expect(_ holds: Bool, _ promise: @autoclosure () -> String) throws(Violation) {
    if !holds { throw Violation(promise: promise()) }
}
