/// The part of a route's queue in which a push waits: how certain it is that its target exists, because untrusted clients can register any
/// number of targets, or that it is a call. The push's slots depend on it, too. The raw value is stored.
package enum PushTrust: Int64, Sendable, CaseIterable {
    /// Apple or Google has accepted a push for the target before.
    case proven = 0
    /// No push for the target was accepted yet, but its bundle id is known, or it is an Android device.
    case unproven = 1
    /// The target is unproven, and no setting names its bundle id, for which Apple has never accepted a push.
    case unknownBundleID = 2
    /// A gateway's call, which waits for no other push.
    case call = 3
}
