import { type Effort, type Figures, type Operation, operations } from './load.ts'

/** A compared side, as named on the page. */
export interface Versions {
  node: string
  processor: string
  postgres: string
  dynamodbLocal: string
  vendure: string
  medusa: string
}

/** The target ratio of requests per second to a peer, for every operation except update. */
const aims: Record<string, number> = { Vendure: 2, Medusa: 3 }
const aimed: Operation[] = ['create', 'get', 'list']

/** Returns the page of results. @param figures of this service over HTTP and in-process, then of its peers */
export function asPage([ours, inside, ...peers]: Figures[], effort: Effort, versions: Versions): string {
  if (!ours || !inside) throw new Error('nothing was measured')
  const names = peers.map(({ side }) => side)
  return `# Comparison with two commerce servers

Written by \`npm run bench:peers\`; do not edit. All of it is one run on one machine, each side in turn.

${effort.clients} clients send one request after the other over kept connections. Each figure is the median of ${effort.rounds} rounds of ${effort.requests}
requests, after a warm-up of ${effort.warmUp} requests of each operation. The clients share the machine's processors with all sides.

## Processor time of the server

Milliseconds of processor that a side's server takes for a request. This comes first: it is what the programs differ in. It holds
still where the clock shows what else the machine does, and none of the databases next to the servers is what runs on AWS.
Above 1 a peer takes more.

| Operation | This service | ${names.join(' | ')} | ${names.map((name) => `${name} ÷ this service`).join(' | ')} |
|---|---|${peers.map(() => '---|---|').join('')}
${operations.map((operation) => serverRow(operation, ours, peers)).join('\n')}

The databases take, in milliseconds of processor for a request:

| Operation | DynamoDB Local of this service | ${names.map((name) => `PostgreSQL of ${name}`).join(' | ')} |
|---|---|${peers.map(() => '---|').join('')}
${operations.map((operation) => `| ${[operation, ...[ours, ...peers].map((side) => processorOf(side, operation, 'databaseMs').toFixed(1))].join(' | ')} |`).join('\n')}

## Requests a second

Server and database together. They are those of this machine and travel badly; the ratios move with what else the machine
does: see the range. Above 1 this service answers more. In brackets the smallest and the largest ratio of a round.

### All of them over HTTP

| Operation | This service | ${names.join(' | ')} | ${names.map((name) => `÷ ${name}`).join(' | ')} |
|---|---|${peers.map(() => '---|---|').join('')}
${operations.map((operation) => row(operation, ours, peers)).join('\n')}

${peers.map((peer) => verdict(ours, peer)).join('\n')}

### This service in-process, as Lambda calls it

The ${effort.clients} clients call \`handleRequest\` in its own process; the peers have no such way, and stay behind HTTP.

| Operation | This service | ${names.join(' | ')} | ${names.map((name) => `÷ ${name}`).join(' | ')} |
|---|---|${peers.map(() => '---|---|').join('')}
${operations.map((operation) => row(operation, inside, peers)).join('\n')}

${peers.map((peer) => verdict(inside, peer)).join('\n')}

## Milliseconds of a request, p50 and p95

| Operation | This service | ${names.join(' | ')} |
|---|---|${peers.map(() => '---|').join('')}
${operations.map((operation) => `| ${operation} | ${[ours, ...peers].map((side) => latencies(side, operation)).join(' | ')} |`).join('\n')}

## ${effort.contenders} creates of one code at once

| Side | Answers | Succeeded | Rows afterwards |
|---|---|---|---|
${[ours, ...peers].map(contestRow).join('\n')}

## What was compared

On ${versions.processor}, with Node ${versions.node}; every server one process with NODE_ENV=production.

- **This service**: the very \`handleRequest\` of AWS, behind Node's HTTP server or called directly, without a gateway and without Lambda, on
  DynamoDB Local ${versions.dynamodbLocal} in memory: SQLite in a JVM, which writes no disk; the table has no stream. It is
  bundled as the functions of AWS are. Every request is of one of 2,000 callers, verifies an ES256 token,
  its role and its scope, and is logged. A
  create with its own \`Idempotency-Key\` commits the code, the
  claim of its text and the idempotency record with the reply as one transaction; an update checks \`If-Match\` and commits
  the code and its audit record as one (a create leaves no audit record of its own). Each code has its entity tag.
- **Vendure ${versions.vendure}** (\`@vendure/core\` from npm) on PostgreSQL ${versions.postgres}: promotions with a coupon code by the GraphQL Admin API,
  with a bearer token, in-memory caches, no worker and no log. It has no idempotency keys, entity tags or audit here.
- **Medusa ${versions.medusa}** (\`@medusajs/medusa\` from npm) on PostgreSQL ${versions.postgres}: \`/admin/promotions\` with a bearer token, in-memory
  modules, without the dashboard, logging errors only. Its pool has 40 connections: at the default of 10, sixteen updates at
  once wait for one another until they time out. It has no idempotency keys, entity tags or audit here.

PostgreSQL runs with its defaults, so that each of its commits reaches the disk (fsync). That is work which DynamoDB
Local does not do, and DynamoDB itself does elsewhere: the writes compare programs, not databases. Peers are asked for no
more fields than this service returns, and an update changes one plain field of a code that no other client changes.
On a single read the processor goes mostly to what all sides have: HTTP and the call of a database, which is a signed
request over HTTP here and a binary protocol there. Both peers do much else that this service does not. All three are installed as released and none was tuned for this.
The peers have exact versions and no lock file: npm chooses their dependencies at the time of the installation, as for their
users, and only figures of one run are compared.
`
}

function row(operation: Operation, ours: Figures, peers: Figures[]): string {
  const rates = [ours, ...peers].map((side) => rateOf(side, operation).toFixed(0))
  const ratios = peers.map((peer) => {
    const each = ours.rounds[operation].map(
      ({ requestsPerSecond }, round) =>
        requestsPerSecond / (peer.rounds[operation][round]?.requestsPerSecond ?? 0),
    )
    return `${ratio(ours, peer, operation).toFixed(1)} (${Math.min(...each).toFixed(1)} to ${Math.max(...each).toFixed(1)})`
  })
  return `| ${[operation, ...rates, ...ratios].join(' | ')} |`
}

/** Returns the median milliseconds of processor that a part of a side takes for a request. */
function processorOf({ rounds }: Figures, operation: Operation, part: 'serverMs' | 'databaseMs'): number {
  return quantile(
    rounds[operation].map((measured) => measured[part]),
    0.5,
  )
}

function serverRow(operation: Operation, ours: Figures, peers: Figures[]): string {
  const [own = Number.NaN, ...others] = [ours, ...peers].map((side) =>
    processorOf(side, operation, 'serverMs'),
  )
  const ratios = others.map((other) => other / own)
  return `| ${[operation, ...[own, ...others, ...ratios].map((figure) => figure.toFixed(1))].join(' | ')} |`
}

function verdict(ours: Figures, peer: Figures): string {
  const aim = aims[peer.side] ?? 1
  const missed = aimed.filter((operation) => ratio(ours, peer, operation) < aim)
  const what = `The aim of at least ${aim} times ${peer.side} on ${aimed.join(', ')}`
  return `- ${what} is ${missed.length === 0 ? 'met' : `**missed on ${missed.join(', ')}**`} in this run.`
}

function latencies({ rounds }: Figures, operation: Operation): string {
  const all = rounds[operation].flatMap(({ latenciesMs }) => latenciesMs)
  return `${quantile(all, 0.5).toFixed(0)}, ${quantile(all, 0.95).toFixed(0)}`
}

function contestRow({ side, contest: { answers, rows } }: Figures): string {
  const counted = Object.entries(answers).toSorted(([, a], [, b]) => b - a)
  const succeeded = counted.filter(([answer]) => /^(201|200|200 Promotion)$/.test(answer))
  const count = succeeded.reduce((sum, [, times]) => sum + times, 0)
  return `| ${side} | ${counted.map(([answer, times]) => `${times} × ${answer}`).join(', ')} | ${count} | ${rows} |`
}

const ratio = (ours: Figures, peer: Figures, operation: Operation) =>
  rateOf(ours, operation) / rateOf(peer, operation)

const rateOf = ({ rounds }: Figures, operation: Operation) =>
  quantile(
    rounds[operation].map(({ requestsPerSecond }) => requestsPerSecond),
    0.5,
  )

function quantile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}
