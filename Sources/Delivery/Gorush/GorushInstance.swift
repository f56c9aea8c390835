import Yams

/// What a gorush says of itself at `/api/config` (GORUSH.md §1, §13). What it leaves out is nil.
package struct GorushInstance: Sendable, Equatable {
    /// Its answer is about 4 KB.
    static let maximumByteCount = 64 * 1_024

    /// Whether it answers when Apple or Google has; otherwise at once.
    package var isSync: Bool?
    package var maximumNotificationCount: Int?
    /// How many notifications wait in it at most; more are lost or never answered (GORUSH.md §0 facts 4 and 5).
    package var queueCount: Int?
    package var workerCount: Int?
    package var isIOSEnabled: Bool?
    package var isAndroidEnabled: Bool?
    package var isIOSProduction: Bool?
    package var iosMaximumConcurrentPushes: Int?
    /// The greatest `max_retry` of all platforms.
    package var maximumRetryCount: Int?
    package var hasFeedbackHook: Bool?

    /// gorush's own default where it says 0 (GORUSH.md §2.6).
    static let defaultQueueCount = 8_192

    package init() {}

    /// Nil: not YAML, or with none of it.
    package init?(yaml: [UInt8]) {
        guard let document = try? YAMLDecoder().decode(Document.self, from: String(decoding: yaml, as: UTF8.self)),
            let core = document.core
        else { return nil }
        isSync = core.sync
        maximumNotificationCount = core.max_notification.flatMap { $0 > 0 ? $0 : nil }
        queueCount = core.queue_num.map { $0 > 0 ? $0 : Self.defaultQueueCount }
        workerCount = core.worker_num
        hasFeedbackHook = core.feedback_hook_url.map { !$0.isEmpty }
        isIOSEnabled = document.ios?.enabled
        isIOSProduction = document.ios?.production
        iosMaximumConcurrentPushes = document.ios?.max_concurrent_pushes
        isAndroidEnabled = document.android?.enabled
        maximumRetryCount = [document.ios?.max_retry, document.android?.max_retry].compactMap(\.self).max()
    }

    /// Whether a failure in its `logs` may have been followed by a success (GORUSH.md §2.4).
    var retriesItself: Bool { maximumRetryCount ?? 0 > 0 }

    /// What will lose pushes, or hide that they were lost, in words for an operator.
    package func warnings(servesIOS: Bool, servesAndroid: Bool) -> [String] {
        var warnings: [String] = []
        if isSync == false, hasFeedbackHook != true {
            warnings.append(
                "core.sync is false and no core.feedback_hook_url is set: failed pushes and dead device tokens stay unknown")
        }
        if servesIOS {
            if isIOSEnabled == false { warnings.append("ios.enabled is false: pushes for iOS wait here until they expire") }
            if isIOSEnabled == true, isIOSProduction == false {
                warnings.append("ios.production is false: pushes go to Apple's sandbox, where the tokens of released apps are invalid")
            }
            if iosMaximumConcurrentPushes == 0 { warnings.append("ios.max_concurrent_pushes is 0: every push for iOS hangs for ever") }
        }
        if servesAndroid, isAndroidEnabled == false {
            warnings.append("android.enabled is false: pushes for Android wait here until they expire")
        }
        if retriesItself { warnings.append("max_retry is above 0: what gorush reports as failed may have arrived; the retry is made here") }
        if isSync == true, let workerCount, workerCount < 16 {
            warnings.append("core.worker_num is \(workerCount): in sync mode so many pushes go out at a time; 32 or more are advised")
        }
        return warnings
    }

    private struct Document: Decodable {
        struct Core: Decodable {
            let sync: Bool?
            let max_notification: Int?
            let queue_num: Int?
            let worker_num: Int?
            let feedback_hook_url: String?
        }

        struct Platform: Decodable {
            let enabled: Bool?
            let production: Bool?
            let max_concurrent_pushes: Int?
            let max_retry: Int?
        }

        let core: Core?
        let ios: Platform?
        let android: Platform?
    }
}
