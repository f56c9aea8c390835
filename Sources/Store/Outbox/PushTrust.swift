/// The evidence that the target of a push exists. It decides which slots the push takes and which pushes go first, because untrusted
/// clients can register any number of targets. The raw value is stored.
package enum PushTrust: Int64, Sendable, CaseIterable {
    /// Apple or Google has accepted a push for the target before.
    case proven = 0
    case unproven = 1
    /// The target is unproven, and no setting names its bundle id, for which Apple has never accepted a push.
    case unknownBundleID = 2
}
