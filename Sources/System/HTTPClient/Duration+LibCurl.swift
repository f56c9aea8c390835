extension Duration {
    /// The duration in milliseconds, rounded up and clamped from 1 to Int32.max: 0 would mean libcurl's default, and some of its arithmetic
    /// is 32 bits wide.
    var wholeMilliseconds: Int {
        Int(min(max((self / .milliseconds(1)).rounded(.up), 1), Double(Int32.max)))
    }
}
