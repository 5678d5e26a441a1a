# Calls every operation with the Ruby client of OpenAPI Generator, and prints the results as JSON.

require 'json'
require 'time'

job = JSON.parse($stdin.read)
$LOAD_PATH.unshift(File.join(job['folder'], 'lib'))
require 'openapi_client'

# Time in JSON.
class Time
  def to_json(*options)
    iso8601(3).to_json(*options)
  end
end

def result(call, client)
  api = OpenapiClient.const_get("#{call['tag'].capitalize}Api").new(client)
  method = api.method("#{call['operation'].gsub(/[A-Z]/) { |letter| "_#{letter.downcase}" }}_with_http_info")
  values = call['parameters'].transform_keys { |name| name.downcase.tr('-', '_') }
  required = method.parameters.filter_map { |kind, name| name.to_s if kind == :req }
  body, status = method.call(*required.map { |name| values.fetch(name) { call['body'] } })
  { status: status, body: body.respond_to?(:to_hash) ? body.to_hash : body }
rescue OpenapiClient::ApiError => e
  { status: e.code, body: JSON.parse(e.response_body) }
rescue StandardError => e
  { thrown: e.full_message(highlight: false) }
end

clients = job['urls'].map do |url|
  scheme, host, path = url.match(%r{^(\w+)://([^/]+)(.*)$}).captures
  configuration = OpenapiClient::Configuration.new
  configuration.scheme = scheme
  configuration.host = host
  configuration.base_path = path
  configuration.server_index = nil
  configuration.access_token = 'token'
  OpenapiClient::ApiClient.new(configuration)
end
puts JSON.generate(clients.map { |client| job['calls'].to_h { |call| [call['operation'], result(call, client)] } })
