import ArgumentParser

/// Arguments that are times.
enum TimeArgument {
    /// Reads a time such as `10s`, `500ms` or `2m`.
    ///
    /// - Throws: `ValidationError` for a malformed time, or for more than an hour.
    @Sendable static func duration(_ text: String) throws -> Duration {
        let units: [(suffix: String, unit: Duration)] = [("ms", .milliseconds(1)), ("s", .seconds(1)), ("m", .seconds(60))]
        guard let (suffix, unit) = units.first(where: { text.hasSuffix($0.suffix) }), let count = Int(text.dropLast(suffix.count)),
            (1...3_600_000).contains(count), unit * count <= .seconds(3_600)
        else { throw ValidationError("A time looks like 10s, 500ms or 2m, and is at most an hour.") }
        return unit * count
    }
}
