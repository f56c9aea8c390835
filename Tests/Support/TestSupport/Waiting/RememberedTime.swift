// pushbench and stubgorush use this module too. Releases contain them without the shared libraries, and Testing is one of these.
#if canImport(Testing)
    package import Envelope
    import Testing

    /// A time that the server remembers, by a clock that was a year ahead and is right again (RELIABILITY.md T6).
    package struct RememberedTime: Sendable, CustomTestStringConvertible {
        package let testDescription: String
        /// Whether what the time has blocked goes on.
        package let goesOn: @Sendable () async throws -> Bool

        package static let right = Timestamp(nanoseconds: 1_700_000_000_000_000_000)
        package static let ahead = right.advanced(by: .seconds(365 * 86_400))

        /// - Parameter goesOn: Lets the time be set by the clock that is ahead. Then moves the right clock by a day at most, and returns
        ///   whether what the time has blocked goes on.
        package init(_ name: String, goesOn: @escaping @Sendable (_ ahead: Timestamp, _ right: Timestamp) async throws -> Bool) {
            testDescription = name
            self.goesOn = { try await goesOn(Self.ahead, Self.right) }
        }
    }
#endif
