import TestSupport
import Testing

@testable import Delivery

@Suite(.safetyNet) struct GorushInstanceTests {
    private func read(_ yaml: String) -> GorushInstance? { GorushInstance(Array(yaml.utf8)) }

    @Test func `the configuration of a gorush is read`() throws {
        let yaml = """
            core:
              sync: true
              max_notification: 50
              queue_num: 0
              worker_num: 2
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
        #expect(instance.ios.enabled == false && instance.android.enabled == true)
        #expect(instance.warnings(for: .init(platform: .ios)).count == 3)
        #expect(instance.warnings(for: .init(platform: .android)).count == 2)
    }

    @Test(arguments: ["", "404 page not found", "{", "[]", "core: 1", "ios: {}", "\u{0}", "- a"])
    func `other texts are no configuration`(text: String) {
        #expect(read(text) == nil)
        #expect(read("core:\n" + text) != nil)
    }

    @Test(
        arguments: [
            ("core: {sync: true}\nios: {enabled: true, production: false}", "sandbox"),
            ("core: {sync: true}\nios: {enabled: true, max_concurrent_pushes: 0}", "hangs"),
            ("core: {sync: true}\nios: {enabled: false}", "ios.enabled"),
            ("core: {sync: true}\nandroid: {enabled: false}", "android.enabled"),
            ("core: {sync: true}\nandroid: {max_retry: 1}", "max_retry"),
            ("core: {sync: true, worker_num: 2}", "2 silent phones can stop a platform for a minute"),
            ("core: {sync: true, worker_num: 48, queue_num: 4}", "queue_num"),
        ])
    func `a configuration that loses pushes is a warning`(yaml: String, word: String) throws {
        let instance = try #require(GorushInstance(settings: yaml))
        let warnings = Set([.ios, .android].flatMap { instance.warnings(for: .init(platform: $0)) })
        #expect(warnings.count == 1 && warnings.allSatisfy { $0.contains(word) })
    }

    @Test(
        arguments: [
            ("core: {sync: true}", nil), ("core: {sync: true}\nqueue: {engine: local}", nil),
            ("core: {sync: true}\nqueue: {engine: \"local\"}", nil), ("core: {sync: false}", "set core.sync: true"),
            ("core: {}", "set core.sync: true"), ("core: {sync: yes}", "set core.sync: true"),
            ("core: {sync: 'true # '}", "set core.sync: true"), ("core: {sync: *a}", "set core.sync: true"),
            ("core: {sync: true}\nqueue: {}", "set queue.engine: local"),
            ("core: {sync: true}\nqueue: {engine: ''}", "set queue.engine: local"),
            ("core: {sync: true}\nqueue: {engine: nsq}", "set queue.engine: local"),
            ("core: {sync: true}\nqueue: {engine: nats}", "set queue.engine: local"),
            ("core: {sync: true}\nqueue: {engine: redis}", "set queue.engine: local"),
        ] as [(String, String?)])
    func `a configuration that loses pushes counted as sent is an issue that names the line to change`(
        yaml: String, remedy: String?
    ) throws {
        let fault = try #require(GorushInstance(settings: yaml)).configurationFault
        #expect(fault == nil ? remedy == nil : fault?.hasSuffix("\(remedy ?? "-") in gorush's configuration") == true)
    }

    @Test(arguments: [GorushPlatform.ios, .android])
    func `an unused platform may be disabled`(platform: GorushPlatform) throws {
        let instance = try #require(GorushInstance(settings: "core: {sync: true}\nios: {enabled: false}\nandroid: {enabled: false}"))
        #expect(instance.warnings(for: .init(platform: platform, hasPushes: false)) == [])
        #expect(instance.warnings(for: .init(platform: platform)).count == 1)
    }

    @Test func `an environment of Apple's causes no warning if the route expects it`() throws {
        for (isProduction, environment) in [(true, DeliveryConfiguration.APNsEnvironment.sandbox), (false, .production)] {
            let instance = try #require(GorushInstance(settings: "core: {sync: true}\nios: {enabled: true, production: \(isProduction)}"))
            #expect(instance.warnings(for: .init(platform: .ios, environment: environment)).count == 1)
            #expect(instance.warnings(for: .init(platform: .ios, environment: environment == .sandbox ? .production : .sandbox)) == [])
        }
    }
}
