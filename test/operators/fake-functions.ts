import { CloudFormationClient } from '@aws-sdk/client-cloudformation'
import { LambdaClient } from '@aws-sdk/client-lambda'
import type { Clients } from '#bin/commands/releases.ts'
import { startHttpServer } from '#test/support/http-server.ts'

interface Version {
  release?: string | undefined
  table?: string | undefined
  /** The record of the setting storage.shards. */
  shards?: string | undefined
  at: number
}

interface Deployed {
  /** By number. Numbers are not used again. */
  versions: Map<string, Version>
  published: number
  /** The versions of each alias, by its name. */
  aliases: Map<string, { FunctionVersion: string; Description?: string; RoutingConfig?: object }>
  tags: Record<string, string>
  /** The provisioned concurrency of the alias `live`. */
  provisioned?: number | undefined
  /** The reserved concurrency. */
  reserved?: number
}

/** A fake of CloudFormation, STS and Lambda with the functions of one stack; some are in a nested stack. */
export interface FakeFunctions {
  clients: Clients
  /** The configuration of clients of the fake. */
  access: { endpoint: string; region: string; credentials: { accessKeyId: string; secretAccessKey: string } }
  /** The status of the stack; nothing if there is no such stack. */
  status: string | undefined
  /** The outputs of the stack, by name. */
  outputs: Record<string, string>
  /** The template of the stack. */
  template: object
  functions: Map<string, Deployed>
  /** Publishes a version of each function and moves its alias, as a deployment does. */
  deploy(
    release: string | undefined,
    options?: { table?: string; shards?: string | undefined; without?: string[] },
  ): void
  /** Stops with an error before this many further changes. */
  failAfter(changes: number): void
  /** The version that each function serves. */
  live(): Record<string, string | undefined>
  /** The release that each function serves. */
  serving(): Record<string, string | undefined>
  close(): Promise<void>
}

/** Returns the record of a release: shards for writes and for reads of all tenants, and of `large`. */
export function recordOf(all: [writes: number, reads: number], large = all): string {
  const [writes, reads] = all
  const tenants = { large: { writes: large[0], reads: large[1] } }
  return JSON.stringify({ default: { writes, reads }, tenants })
}

export async function fakeFunctions(names: readonly string[]): Promise<FakeFunctions> {
  const functions = new Map<string, Deployed>()
  let hour = 0
  let changesLeft = Number.POSITIVE_INFINITY

  const summary = (type: string, id: string, logicalId = 'x') =>
    `<member><LogicalResourceId>${logicalId}</LogicalResourceId><ResourceType>${type}</ResourceType><PhysicalResourceId>${id}</PhysicalResourceId></member>`
  const aliasesOf = (some: readonly string[]) =>
    some
      .filter((name) => functions.has(name))
      .map(
        (name) =>
          summary('AWS::Lambda::Function', name, name) +
          summary('AWS::Lambda::Alias', `arn:aws:lambda:us-east-1:111122223333:function:${name}:live`),
      )
      .join('')

  const cloudFormation = (body: string): string => {
    if (body.includes('Action=GetCallerIdentity'))
      return `<GetCallerIdentityResponse><GetCallerIdentityResult><Account>111122223333</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`
    if (body.includes('Action=GetTemplate'))
      return `<GetTemplateResponse><GetTemplateResult><TemplateBody>${JSON.stringify(fake.template)}</TemplateBody></GetTemplateResult></GetTemplateResponse>`
    if (body.includes('Action=DescribeStacks')) {
      const outputs = Object.entries(fake.outputs).map(
        ([key, value]) => `<member><OutputKey>${key}</OutputKey><OutputValue>${value}</OutputValue></member>`,
      )
      return `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>s</StackName><StackStatus>${fake.status}</StackStatus><Outputs>${outputs.join('')}</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`
    }
    const nested = new URLSearchParams(body).get('StackName') === 'nested'
    const members = nested
      ? aliasesOf(names.slice(1))
      : aliasesOf(names.slice(0, 1)) + summary('AWS::CloudFormation::Stack', 'nested')
    return `<ListStackResourcesResponse><ListStackResourcesResult><StackResourceSummaries>${members}</StackResourceSummaries></ListStackResourcesResult></ListStackResourcesResponse>`
  }

  const lambda = (method: string, url: URL, body: string): [status: number, answer: object] => {
    const [, name = '', kind = '', alias = ''] =
      /\/(?:functions|tags)\/([^/]+)(?:\/(versions|aliases|provisioned-concurrency)(?:\/([^/]+))?)?\/?$/.exec(
        url.pathname,
      ) ?? []
    const one = functions.get(name)
    if (!one) return [404, { message: `no function ${name}` }]
    if (method === 'GET' && kind === 'versions') {
      const versions = [...one.versions].map(([Version, { release, table, shards, at }]) => ({
        Version,
        LastModified: `2026-01-01T${String(at).padStart(2, '0')}:00:00.000+0000`,
        Environment: {
          Variables: {
            ...(release && { RELEASE: release }),
            ...(table && { TABLE_NAME: table }),
            ...(shards && { STORAGE_SHARDS: shards }),
          },
        },
      }))
      const latest = { ...versions.at(-1), Version: '$LATEST' }
      return [200, { Versions: [latest, ...versions] }]
    }
    if (method === 'GET' && alias !== '') return [200, { Name: alias, ...one.aliases.get(alias) }]
    if (method === 'GET' && kind === 'provisioned-concurrency')
      return one.provisioned === undefined
        ? [404, { code: 'ProvisionedConcurrencyConfigNotFoundException' }]
        : [200, { RequestedProvisionedConcurrentExecutions: one.provisioned }]
    if (method === 'GET' && kind === '') {
      const Concurrency = { ReservedConcurrentExecutions: one.reserved }
      return [200, { Configuration: { FunctionArn: name }, Tags: one.tags, Concurrency }]
    }
    if (method === 'GET') return [200, { Aliases: [...one.aliases].map(([Name, its]) => ({ Name, ...its })) }]
    if (changesLeft-- <= 0) return [400, { message: 'interrupted' }]
    if (url.pathname.includes('/tags/')) {
      if (method === 'POST') Object.assign(one.tags, JSON.parse(body).Tags)
      for (const key of url.searchParams.getAll('tagKeys')) delete one.tags[key]
      return [204, {}]
    }
    if (kind === 'provisioned-concurrency') {
      if (weighted(one)) return [400, { message: 'the alias invokes two versions' }]
      one.provisioned = method === 'PUT' ? JSON.parse(body).ProvisionedConcurrentExecutions : undefined
      return method === 'PUT' ? [202, {}] : [204, {}]
    }
    if (method === 'DELETE' && kind === '') {
      const number = url.searchParams.get('Qualifier') ?? ''
      const used = [...one.aliases.values()].some(({ FunctionVersion }) => FunctionVersion === number)
      if (used) return [409, { message: 'the version is referenced by an alias' }]
      return one.versions.delete(number) ? [204, {}] : [404, { message: 'no version' }]
    }
    if (method === 'DELETE') return one.aliases.delete(alias) ? [204, {}] : [404, { message: 'no alias' }]
    const { Name = alias, ...its } = JSON.parse(body)
    if (method === 'POST' && one.aliases.has(Name)) return [409, { message: 'the alias exists' }]
    const { FunctionVersion: old } = one.aliases.get(Name) ?? {}
    one.aliases.set(Name, { ...one.aliases.get(Name), ...its })
    // Requests reach the old version until the new one has allocated its provisioned concurrency.
    if (one.provisioned !== undefined && old !== undefined && old !== one.aliases.get(Name)?.FunctionVersion)
      Object.assign(one.aliases.get(Name) ?? {}, {
        RoutingConfig: { AdditionalVersionWeights: { [old]: 1 } },
      })
    return [200, its]
  }

  const weighted = ({ aliases }: Deployed) =>
    Object.keys(Object(aliases.get('live')?.RoutingConfig).AdditionalVersionWeights ?? {}).length > 0

  const { url: endpoint, stop } = await startHttpServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString()
    const url = new URL(request.url ?? '', 'http://fake')
    if (url.pathname === '/') {
      response.setHeader('Content-Type', 'text/xml')
      if (fake.status === undefined && body.includes('Action=DescribeStacks')) {
        response.statusCode = 400
        response.end(
          '<ErrorResponse><Error><Code>ValidationError</Code><Message>Stack with id s does not exist</Message></Error></ErrorResponse>',
        )
      } else response.end(cloudFormation(body))
      return
    }
    const [status, answer] = lambda(request.method ?? '', url, body)
    response.setHeader('Content-Type', 'application/json')
    if ('code' in answer) response.setHeader('X-Amzn-ErrorType', String(answer.code))
    response.statusCode = status
    response.end(status === 204 ? undefined : JSON.stringify(answer))
  })
  const access = {
    endpoint,
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  }
  const live = () =>
    [...functions].map(([name, { aliases }]) => [name, aliases.get('live')?.FunctionVersion] as const)

  const fake: FakeFunctions = {
    clients: { cloudFormation: new CloudFormationClient(access), lambda: new LambdaClient(access) },
    access,
    status: 'UPDATE_COMPLETE',
    outputs: {},
    template: {},
    functions,
    deploy(release, { table = 'orders-table', shards, without = [] } = {}) {
      hour += 1
      for (const name of names) {
        if (without.includes(name)) continue
        const one = functions.get(name) ?? {
          versions: new Map(),
          published: 0,
          aliases: new Map(),
          tags: {},
        }
        one.published += 1
        one.versions.set(`${one.published}`, { release, table, shards, at: hour })
        one.aliases.set('live', { FunctionVersion: `${one.published}` })
        functions.set(name, one)
      }
    },
    failAfter(changes) {
      changesLeft = changes
    },
    live: () => Object.fromEntries(live()),
    serving: () =>
      Object.fromEntries(
        live().map(([name, number = '']) => [name, functions.get(name)?.versions.get(number)?.release]),
      ),
    close: stop,
  }
  return fake
}
