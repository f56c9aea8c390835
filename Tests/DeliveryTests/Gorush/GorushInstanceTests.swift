import TestSupport
import Testing

@testable import Delivery

@Suite(.safetyNet) struct GorushInstanceTests {
    private func read(_ yaml: String) -> GorushInstance? { GorushInstance(yaml: Array(yaml.utf8)) }

    @Test func `Its configuration is read`() throws {
        let yaml = """
            core:
              sync: true
              max_notification: 50
              queue_num: 0
              worker_num: 2
              feedback_hook_url: ""
            android:
              enabled: true
              max_retry: 3
            ios:
              enabled: false
              production: false
              max_concurrent_pushes: 100
            """
        let instance = try #require(read(yaml))
        #expect(instance.core.sync == true)
        #expect(instance.maximumNotificationCount == 50)
        #expect(instance.queueCount == 8_192)
        #expect(instance.retriesItself)
        #expect(instance.ios?.enabled == false && instance.android?.enabled == true)
        #expect(instance.warnings(for: .ios, environment: .production).count == 3)
        #expect(instance.warnings(for: .android, environment: .production).count == 2)
    }

    @Test("What is no configuration says nothing", arguments: ["", "404 page not found", "{", "[]", "core: 1", "ios: {}", "\u{0}", "- a"])
    func junk(text: String) {
        #expect(read(text) == nil)
    }

    @Test(
        "What loses pushes is warned of",
        arguments: [
            ("core: {sync: false}", "feedback"), ("core: {sync: true}\nios: {enabled: true, production: false}", "sandbox"),
            ("core: {sync: true}\nios: {enabled: true, max_concurrent_pushes: 0}", "hangs"),
            ("core: {sync: true}\nios: {enabled: false}", "ios.enabled"),
            ("core: {sync: true}\nandroid: {enabled: false}", "android.enabled"),
            ("core: {sync: true}\nandroid: {max_retry: 1}", "max_retry"), ("core: {sync: true, worker_num: 2}", "worker_num"),
        ])
    func warned(yaml: String, word: String) throws {
        let instance = try #require(read(yaml))
        let warnings = Set([.ios, .android].flatMap { instance.warnings(for: $0, environment: .production) })
        #expect(warnings.count == 1 && warnings.allSatisfy { $0.contains(word) })
    }
}
