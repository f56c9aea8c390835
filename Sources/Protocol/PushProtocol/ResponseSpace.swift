/// The space for infos in the two responses that a query may have. The first one is filled, then the second.
package struct ResponseSpace {
    package private(set) var isInFirst = true
    private var byteCount = 0

    package init() {}

    /// Takes the space for the next info. An info that is longer than a response is the only one there.
    ///
    /// - Returns: Whether there is enough.
    package mutating func take(_ infoByteCount: Int) -> Bool {
        if byteCount == 0 || byteCount + infoByteCount <= ProtocolLimits.maximumResponseByteCount {
            byteCount += infoByteCount
            return true
        }
        guard isInFirst else { return false }
        isInFirst = false
        byteCount = infoByteCount
        return true
    }
}
