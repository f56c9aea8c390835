import Delivery
import PushProtocol

extension Settings {
    /// Reads the section `gorush`, which configures the delivery.
    ///
    /// - Returns: The configuration, or nil without a `gorush.url`, which means a dry run.
    static func gorush(_ reader: inout SettingsReader) -> DeliveryConfiguration? {
        let url = reader.optional("gorush.url", .url)
        var delivery = DeliveryConfiguration(endpoint: .init(url: url ?? ""))
        delivery.endpoint.headers = reader.headers("gorush.headers")
        delivery.endpoint.certificateAuthorityFile = reader.existingFile("gorush.certificateAuthorityFile")
        reader.update(&delivery.endpoint.environment, "gorush.apnsEnvironment", .choice)
        reader.update(&delivery.dataFormat, "gorush.dataFormat", .choice)
        reader.update(&delivery.batchMode, "gorush.batchMode", .choice)
        // Beyond three quarters of Apple's and Google's limit, longer messages would stand out again.
        reader.update(&delivery.padPayload, "gorush.padPayload", .integer(0...3_072))
        reader.update(&delivery.trustsSyncMode, "gorush.trustSyncMode", .bool)
        reader.update(&delivery.timeout, "gorush.timeout", .duration(from: .seconds(1), to: .seconds(600)))
        reader.update(&delivery.lifetime, "gorush.pushLifetime", .duration(from: .seconds(60), to: ProtocolLimits.pushLifetime))
        reader.update(&delivery.maximumNotificationsPerRequest, "gorush.maximumNotifications", .integer(1...10_000))
        reader.update(&delivery.maximumRequestsInFlight, "gorush.maximumRequestsInFlight", .integer(1...256))
        reader.ignore("gorush.maximumNotificationsInFlight")
        reader.update(&delivery.maximumQueuedPushCount, "gorush.maximumQueuedPushes", .integer(1_000...100_000_000))

        var notifications = NotificationSettings()
        notifications.read(below: "gorush", for: [.ios, .android], &reader)
        delivery.ios = notifications.templates(for: .ios)
        delivery.android = notifications.templates(for: .android)

        for name in reader.names(below: "gorush.routes") {
            guard let route = route(named: name, beside: delivery.endpoint, notifications, &reader) else { continue }
            delivery.routes.append(route)
        }
        noteConflictingRoutes(among: delivery.routes, &reader)
        checkEnvironments(of: delivery, &reader)
        return url == nil ? nil : delivery
    }

    /// Reports two routes for the same pushes, because only one of them would get any.
    private static func noteConflictingRoutes(among routes: [DeliveryConfiguration.Route], _ reader: inout SettingsReader) {
        var takers: [String: String] = [:]
        for route in routes {
            let wanted =
                switch route.pushes {
                case .apnTopics(let topics): topics
                case .platform(.ios): ["platform ios"]
                case .platform(.android): ["platform android"]
                }
            for pushes in Set(wanted).sorted() {
                if let conflicting = takers.updateValue(route.name, forKey: pushes) {
                    reader.report("gorush.routes.\(route.name)", "\(pushes) is already assigned to gorush.routes.\(conflicting)")
                }
            }
        }
    }

    /// Reads a route: some apps, or a platform, with their own gorush.
    private static func route(
        named name: String, beside endpoint: DeliveryConfiguration.Endpoint, _ notifications: NotificationSettings,
        _ reader: inout SettingsReader
    ) -> DeliveryConfiguration.Route? {
        let key = "gorush.routes.\(name)"
        let topics = reader.list("\(key).apnTopics", of: .text("bundle ids"), isSet: true)
        let platform = reader.optional("\(key).platform", .text)
        let url = reader.optional("\(key).url", .url)
        let headers = reader.headers("\(key).headers")
        let certificateAuthorityFile = reader.existingFile("\(key).certificateAuthorityFile")
        let environment = reader.value("\(key).apnsEnvironment", .choice, default: endpoint.environment)

        if url == nil, !headers.isEmpty || certificateAuthorityFile != nil {
            reader.report("\(key).url", "required: headers and certificateAuthorityFile have no effect without the route's own url")
        }
        if url == nil, environment != endpoint.environment {
            reader.report("\(key).apnsEnvironment", "this route needs its own url, because a gorush serves one environment")
        }
        let pushes: DeliveryConfiguration.Route.Pushes
        switch (topics.isEmpty, platform) {
        case (false, nil): pushes = .apnTopics(topics)
        case (true, "ios"): pushes = .platform(.ios)
        case (true, "android"): pushes = .platform(.android)
        default:
            reader.report(key, "expected either apnTopics, or platform with ios or android")
            return nil
        }
        var route = DeliveryConfiguration.Route(
            name: name, pushes: pushes,
            endpoint: url.map {
                .init(url: $0, headers: headers, certificateAuthorityFile: certificateAuthorityFile, environment: environment)
            })
        var notifications = notifications
        notifications.read(below: key, for: [route.platform], &reader)
        route.templates = notifications.templates(for: route.platform)
        return route
    }

    /// Reports a gorush that two routes use with different environments, because it would send pushes to the wrong server of Apple
    /// (GORUSH.md §0 fact 9).
    private static func checkEnvironments(of delivery: DeliveryConfiguration, _ reader: inout SettingsReader) {
        var endpoints = [delivery.endpoint]
        for route in delivery.routes {
            guard let endpoint = route.endpoint else { continue }
            if let other = endpoints.first(where: { $0.isSameGorush(as: endpoint) && $0.environment != endpoint.environment }) {
                reader.report(
                    "gorush.routes.\(route.name).apnsEnvironment", "the gorush at this url already serves \(other.environment.rawValue)")
            }
            endpoints.append(endpoint)
        }
    }
}
