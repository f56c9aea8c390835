/// A number of bytes as text.
package enum ByteText {
    /// Returns the number in a decimal unit, with at most three digits: `999 B`, `1.2 kB`, `47 MB`.
    package static func text(_ byteCount: Int) -> String {
        var value = Double(byteCount)
        var unit = "B"
        for next in ["kB", "MB", "GB", "TB"] where value >= 999.5 {
            value /= 1_000
            unit = next
        }
        guard unit != "B", value < 9.95 else { return "\(Int(value.rounded())) \(unit)" }
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(unit)"
    }
}
