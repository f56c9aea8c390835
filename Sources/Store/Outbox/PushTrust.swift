/// How much is known of the target of a push. It decides which capacity the push takes and which pushes go first: untrusted clients can
/// register as many targets as they like. The raw value is stored.
package enum PushTrust: Int64, Sendable, CaseIterable {
    /// Apple or Google has accepted a push for the target before.
    case proven = 0
    case unproven = 1
    /// The target is unproven, and no setting names its bundle id, for which Apple has never accepted a push.
    case unknownBundleID = 2
}
