extension Duration {
    /// For libcurl, to which 0 means "no limit" or its own default and whose arithmetic is 32 bits wide in places: 1 to Int32.max.
    var wholeMilliseconds: Int {
        Int(min(max(self / .milliseconds(1), 1), Double(Int32.max)))
    }
}
