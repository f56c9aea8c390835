/// What an operator should know about a route: a reason why its pushes are not delivered, or a warning.
struct RouteCondition: Sendable, Equatable {
    /// What it is about. While that stays the same, it is the same condition, although numbers and the provider's words change.
    enum Kind: Sendable, Hashable {
        /// gorush, with a constant text.
        case gorush(String)
        /// Apple or Google delivers nothing.
        case failing
        case bundleID(String)
        case mixed
        /// Devices that worked get nothing, and no delivery to others shows whether they or the route are at fault.
        case unwitnessed
        case neverDelivered
        /// A setting of gorush, with a constant text.
        case setting(String)
    }

    var kind: Kind
    var text: String
}
