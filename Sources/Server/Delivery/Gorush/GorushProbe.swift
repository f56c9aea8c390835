import HTTPClient

/// What probing a gorush found, before a server relies on it.
package struct GorushProbe: Sendable {
    /// The URL without user name and password.
    package var name: String
    /// Why gorush accepts no pushes, or nil if it does.
    package var issue: String?
    /// The settings that lose or delay pushes.
    package var warnings: [String]
}

extension DeliveryConfiguration {
    /// Probes each gorush that a route uses. Doesn't post any push.
    package func probe() async -> [GorushProbe] {
        var asked: [Endpoint] = []
        var probes: [GorushProbe] = []
        for route in allRoutes {
            let endpoint = endpoint(of: route)
            guard !asked.contains(where: { $0.isSameGorush(as: endpoint) }) else { continue }
            asked.append(endpoint)
            let http = HTTPClient(configuration: .init(certificateAuthorityFile: endpoint.certificateAuthorityFile))
            defer { http.shutdown() }
            let uses = allRoutes.filter { self.endpoint(of: $0).isSameGorush(as: endpoint) }
            let name = endpoint.publicURL
            switch await GorushClient(http: http, endpoint: endpoint, probeTimeout: probeTimeout).probe() {
            case .instance(let instance):
                let workerCount = GorushProfile.wantedWorkerCount(
                    routes: uses.count, maximumRequestsInFlight: maximumRequestsInFlight)
                let warnings = uses.flatMap {
                    instance.warnings(for: .init(platform: $0.platform, environment: endpoint.environment, workerCount: workerCount))
                }
                probes.append(.init(name: name, issue: instance.configurationFault, warnings: Set(warnings).sorted()))
            case .silent: probes.append(.init(name: name, issue: nil, warnings: []))
            case .unusable(let issue): probes.append(.init(name: name, issue: issue, warnings: []))
            case .unreachable(let reason):
                probes.append(.init(name: name, issue: reason.proxyStatus == nil ? "no response" : reason.issue, warnings: []))
            }
        }
        return probes
    }
}
