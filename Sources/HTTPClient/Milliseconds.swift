extension Duration {
    /// Rounded up, from 1 to Int32.max: to libcurl 0 means its own default, and its arithmetic is 32 bits wide in places.
    var wholeMilliseconds: Int {
        Int(min(max((self / .milliseconds(1)).rounded(.up), 1), Double(Int32.max)))
    }
}
