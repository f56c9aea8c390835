import Store

/// What an operator should know about a route: a reason why its pushes are not delivered, or a warning.
struct RouteCondition: Sendable, Equatable {
    /// What it is about. While that stays the same, it is the same condition, although numbers and the provider's words change.
    enum Kind: Sendable, Hashable {
        /// gorush, with a constant text.
        case gorush(String)
        /// A proxy in front of gorush takes no pushes.
        case turnedAway
        /// Apple or Google delivers nothing.
        case failing
        /// Apple or Google rejects gorush itself.
        case credentials
        case bundleID(String)
        /// Credentials are refused and accepted in turn.
        case twoKeys
        /// Device tokens are refused and accepted in turn.
        case twoProjects
        /// Nothing is delivered, to too few devices to tell whether they or the route are at fault.
        case nothingDelivered
        /// Nothing is delivered, and devices that never worked are refused.
        case newDevices
        /// So many recent devices are refused that none is believed to be dead.
        case doubt
        /// So many recent devices are gone that the words may be wrong.
        case gone
        case manyInTrouble
        case tooLarge
        /// A setting of gorush, with a constant text.
        case setting(String)
        /// An operator holds the route.
        case held(RouteHold)
        /// A hold has ended before its time.
        case holdEnded(RouteHold)
    }

    var kind: Kind
    var text: String
}
