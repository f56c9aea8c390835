/// A broken invariant.
struct Violation: Error, CustomStringConvertible {
    var property: String
    var description: String { "violated: \(property)" }
}

func expect(_ holds: Bool, _ property: @autoclosure () -> String) throws(Violation) {
    if !holds { throw Violation(property: property()) }
}
