import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { type RouteEntry, routes } from '#functions/routes.ts'
import { tableUseOf } from '#lib/access/table-use.ts'
import type { ErrorCode } from '#shared/error-catalog.ts'
import { lazy, processMemory, type Remember } from '#shared/platform/base/cached-load.ts'
import { type Clock, systemClock } from '#shared/platform/base/clock.ts'
import type { HttpResponse } from '#shared/platform/base/http.ts'
import type { AlertCode, EventLine, Log, LogReport, RequestLine } from '#shared/platform/base/log.ts'
import type { SecretName } from '#shared/platform/base/secrets.ts'
import { blockCheck } from '#shared/platform/identity/blocked-tenants.ts'
import { tokenVerifier } from '#shared/platform/identity/token.ts'
import type { Runtime } from '#shared/platform/request/context.ts'
import type { Endpoint } from '#shared/platform/request/endpoint.ts'
import { handleRequest, openRequest } from '#shared/platform/request/handle-request.ts'
import { gatewayPathOf, methodsByPath, methodsOf, type Route } from '#shared/platform/request/route.ts'
import type { Entity, Item } from '#shared/platform/table/keys.ts'
import type { Table, TableCall } from '#shared/platform/table/table.ts'
import type { Settings } from '#shared/settings/register.ts'
import type { Transit } from '#test/simulation/memory-table.ts'
import { checkDeclared, watchedTable } from './declared-table.ts'
import { entityItems } from './dynamodb-client.ts'
import { type MemoryFiles, memoryFiles } from './memory-files.ts'
import { type Identity, localSettings, tokenFor } from './settings.ts'
import { webhookSecret } from './signed-events.ts'
import { stripeSecret } from './stripe-events.ts'
import { createTable, newMemoryTable, newTable, openTable } from './tables.ts'
import { testKeys } from './test-keys.ts'

export interface Call {
  method?: string
  /** The path with its query: `/v1/orders?page_size=2`. */
  path: string
  /** The identity for which a token is signed; absent for a call without credentials. */
  as?: Identity
  headers?: Record<string, string>
  /** The source address. */
  from?: string
  /** An object is sent as JSON, a string or bytes unchanged. */
  body?: unknown
  /** Whether the test causes an internal failure. Otherwise the call throws the fault behind it. */
  failsInternally?: boolean
}

export interface Answer extends HttpResponse {
  // biome-ignore lint/suspicious/noExplicitAny: tests read bodies of any shape
  json: any
}

export interface Service {
  settings: Settings
  table: Table
  tableName: string
  lines: RequestLine[]
  notices: LogReport[]
  /** Received events that had no effect. */
  events: EventLine[]
  alerts: AlertCode[]
  /** @throws the fault behind an internal failure, which the response does not show */
  call(call: Call): Promise<Answer>
  /** The names of all headers that the service has looked up so far, in lower case. */
  headersRead: Set<string>
  /** Returns all items of an entity of a tenant, oldest first. */
  items(tenant: string, entity: Entity): Promise<Item[]>
  files: MemoryFiles['files']
  /** Secrets are already loaded, so reading them needs no time budget. */
  runtime: Runtime & typeof testKeys
}

export interface ServiceOptions {
  settings?: Settings
  clock?: Clock
  client?: DynamoDBClient
  /** Carries the calls of a table in memory. */
  transit?: Transit
  /** A table to share, or one of `createTable`, which other processes can read; absent for one of `newTable`. */
  tableName?: string
  /**
   * Reads the blocked tenants and remembers what it reads, as on AWS. Tests that count calls would see a read at some request
   * of a slow run.
   */
  remembers?: true
  /** What the process remembers, instead of nothing. */
  remember?: Remember
  /** Secrets other than those that the tests sign with. */
  secrets?: Partial<Record<SecretName, string>>
  /** Endpoints of the test, in addition to those of the route table. */
  extra?: Endpoint[]
  /** Endpoints of the test, instead of those of the route table. */
  only?: Endpoint[]
}

/** Starts the service in this process, by default on a new table, with the same handleRequest that runs on AWS. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const { settings = localSettings, clock = systemClock, client, transit, extra = [] } = options
  const tableName = options.tableName ?? (await tableFor(options))
  const lines: RequestLine[] = []
  const notices: LogReport[] = []
  const events: EventLine[] = []
  const alerts: AlertCode[] = []
  const log: Log = {
    request: (line) => lines.push(line),
    report: (notice) => notices.push(notice),
    relay: () => {},
    pending: () => {},
    job: () => {},
    event: (line) => events.push(line),
    alert: (code) => alerts.push(code),
    reconciled: () => {},
    probed: () => {},
  }
  const store = memoryFiles()
  const runtime: Service['runtime'] = {
    settings,
    clock,
    log,
    tokens: tokenVerifier(settings),
    openFiles: () => store,
    secret: async (name) =>
      ({
        ...{ webhooks: webhookSecret, stripe_webhooks: stripeSecret, payments: 'sk_test_1', probe: 'none' },
        ...options.secrets,
      })[name],
    openTable(budget, criticality = 'critical', units) {
      const access = { clock, budget, criticality, ...(units && { units }) }
      return openTable(tableName, { ...access, ...(client && { client }), ...(transit && { transit }) })
    },
    isBlocked: options.remembers ? blockCheck(clock) : async () => false,
    remember: options.remember ?? (options.remembers ? processMemory(clock) : (_, load) => load()),
    ...testKeys,
    environment: (name) => ({ METHODS: methods, DEPLOYMENT: 'commerce-test' })[name] ?? process.env[name],
  }
  const headersRead = new Set<string>()
  const table = openTable(tableName)
  // A test file loads only the handlers that it calls.
  const deployed = routes.map((entry) => ({ route: entry.route, load: lazy(() => endpointOf(entry)) }))
  const ofTest = (options.only ?? extra).map((endpoint) => ({ route: endpoint.route, load: () => endpoint }))
  const endpoints = options.only ? ofTest : [...deployed, ...ofTest]
  const methods = JSON.stringify(
    methodsByPath(
      endpoints.map(({ route }) => route),
      settings,
    ),
  )

  return {
    settings,
    table,
    tableName,
    lines,
    notices,
    events,
    alerts,
    headersRead,
    files: store.files,
    runtime,
    async call({ method = 'GET', path, as, headers = {}, from = '192.0.2.1', body, failsInternally }) {
      const url = new URL(path, 'http://service')
      const matched = match(endpoints, method, url.pathname, settings)
      const token = as && (await tokenFor(as, settings, clock.now()))
      const sent = {
        ...(token && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...lowerCase(headers),
      }
      const received = {
        method,
        path: url.pathname,
        params: matched.params,
        query: [...url.searchParams],
        headers: recorded(sent, headersRead),
        body: bytesOf(body),
        sourceAddress: from,
      }
      const called = await Promise.all(matched.endpoints.map(({ load }) => load()))
      const faults: unknown[] = []
      const opened = openRequest(called, received, {
        ...runtime,
        log: watchedLog(runtime.log, (fault) => faults.push(fault)),
        openTable: (...opening) => watchedTable(runtime.openTable(...opening), checkAccess),
      })
      const undeclared: unknown[] = []
      const response = await handleRequest(opened)
      // The response to a fault is a 500, which does not say what is wrong.
      if (undeclared.length > 0) throw undeclared[0]
      if (faults.length > 0 && !failsInternally) throw faults[0]
      const json = /json/.test(response.headers['Content-Type'] ?? '') && response.body
      return { ...response, json: json ? JSON.parse(json) : undefined }

      function checkAccess(call: TableCall, kind: string): void {
        const { route } = opened.context
        const { operation: name } = route
        const folder = routes.find((entry) => entry.route === route)?.folder
        const file = folder ? `functions/${folder}/route.ts` : 'its route'
        try {
          checkDeclared({ name, use: tableUseOf(route, settings), file }, call, kind)
        } catch (thrown) {
          undeclared.push(thrown)
          throw thrown
        }
      }
    },
    items: (tenant, entity) => entityItems(tableName, tenant, entity),
  }
}

/** Returns the log, and passes on the mistakes that it reports: of a request or a row, or after the effect of a saga. */
function watchedLog(log: Log, onFault: (fault: unknown) => void): Log {
  const watch = (code: ErrorCode, cause: unknown) => {
    const isMistake = code === 'INTERNAL.unexpected' || code === 'TRANSIENT.error'
    if (isMistake && cause !== undefined) onFault(cause)
  }
  return {
    ...log,
    request(line) {
      log.request(line)
      const { failure } = line
      const isUnforeseen = failure?.code === 'INTERNAL.unexpected'
      if (failure) watch(failure.code, failure.cause ?? (isUnforeseen ? failure : undefined))
    },
    report(notice) {
      log.report(notice)
      watch(notice.error, notice.fault)
    },
  }
}

function tableFor({ client, transit }: ServiceOptions): string | Promise<string> {
  if (client) return createTable()
  return transit ? newMemoryTable() : newTable()
}

/** Returns the endpoint of a route, as its function serves it. */
export async function endpointOf({ route, folder, sharedFunction }: RouteEntry): Promise<Endpoint> {
  const file = `functions/${sharedFunction ?? folder}/handler.ts`
  const { endpoint, endpoints = [endpoint] }: { endpoint: Endpoint; endpoints?: readonly Endpoint[] } =
    await import(`#${file}`)
  const served = endpoints.find((one) => one.route === route)
  if (!served) throw new Error(`add the endpoint of ${route.operation} to ${file}`)
  return served
}

interface ListedEndpoint {
  route: Route
  load(): Endpoint | Promise<Endpoint>
}

/** Matches as the gateway does, by method and path, which several endpoints may share, or none has. */
function match(endpoints: ListedEndpoint[], method: string, path: string, settings: Settings) {
  const atMethod = endpoints.filter(({ route }) => methodsOf(route).includes(method))
  for (const gatewayPath of new Set(atMethod.map(({ route }) => gatewayPathOf(route, settings)))) {
    const pattern = gatewayPath.replace(/\{([a-z_]+)\}/g, '(?<$1>[^/]+)')
    const found = new RegExp(`^${pattern}$`).exec(path)
    if (!found) continue
    const params = Object.entries(found.groups ?? {}).map(([name, value]) => [
      name,
      decodeURIComponent(value),
    ])
    return {
      endpoints: atMethod.filter(({ route }) => gatewayPathOf(route, settings) === gatewayPath),
      params: Object.fromEntries(params) as Record<string, string>,
    }
  }
  return { endpoints: [], params: {} }
}

function bytesOf(body: unknown): Uint8Array | undefined {
  if (body === undefined || body instanceof Uint8Array) return body
  return new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body))
}

/** Returns headers that note the names that are looked up. */
function recorded(headers: Record<string, string>, names: Set<string>): Record<string, string> {
  return new Proxy(headers, {
    get(target, name: string) {
      names.add(name)
      return target[name]
    },
  })
}

function lowerCase(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}
