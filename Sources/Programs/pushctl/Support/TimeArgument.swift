import ArgumentParser
import Envelope
import Foundation

enum TimeArgument {
    /// Reads a time such as `2026-11-24T12:00:00Z`, or a day, which begins at midnight UTC.
    ///
    /// - Throws: `ValidationError` for a malformed time.
    @Sendable static func time(_ text: String) throws -> Timestamp {
        guard let date = try? Date(text.contains("T") ? text : text + "T00:00:00Z", strategy: .iso8601) else {
            throw ValidationError("A time looks like 2026-11-24 or 2026-11-24T12:00:00Z.")
        }
        return Timestamp(nanoseconds: 0).advanced(by: .seconds(Int64(date.timeIntervalSince1970)))
    }

    /// Reads a time such as `10s`, `500ms` or `2m`.
    ///
    /// - Throws: `ValidationError` for a malformed time, or for more than an hour.
    @Sendable static func duration(_ text: String) throws -> Duration {
        guard let duration = read(text, [("ms", .milliseconds(1)), ("s", .seconds(1)), ("m", .seconds(60))], most: .seconds(3_600)) else {
            throw ValidationError("A time looks like 10s, 500ms or 2m, and is at most an hour.")
        }
        return duration
    }

    /// Reads a time such as `24h` or `90m`.
    ///
    /// - Throws: `ValidationError` for a malformed time, or for more than the two days for which finished pushes stay.
    @Sendable static func period(_ text: String) throws -> Duration {
        guard let period = read(text, [("m", .seconds(60)), ("h", .seconds(3_600))], most: .seconds(48 * 3_600)) else {
            throw ValidationError("A time looks like 24h or 90m, and is at most 48h.")
        }
        return period
    }

    /// Reads a time such as `30s`, `10m` or `1h`.
    ///
    /// - Returns: Nil for a malformed time, or for more than `most`.
    static func period(_ text: String, most: Duration) -> Duration? { read(text, Self.units, most: most) }

    /// Returns a time of whole seconds as one writes it.
    static func text(_ time: Duration) -> String {
        let seconds = time.components.seconds
        let (suffix, unit) = units.last { seconds % $0.unit.components.seconds == 0 } ?? units[0]
        return "\(seconds / unit.components.seconds)\(suffix)"
    }

    private static let units: [(suffix: String, unit: Duration)] = [("s", .seconds(1)), ("m", .seconds(60)), ("h", .seconds(3_600))]

    private static func read(_ text: String, _ units: [(suffix: String, unit: Duration)], most: Duration) -> Duration? {
        guard let (suffix, unit) = units.first(where: { text.hasSuffix($0.suffix) }), let count = Int(text.dropLast(suffix.count)),
            (1...3_600_000).contains(count), unit * count <= most
        else { return nil }
        return unit * count
    }
}
