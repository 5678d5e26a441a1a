import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'

/** One of the compared functions. All get the same machine, DynamoDB and number of calls. */
interface Subject {
  /** The bundle's index.mjs. Its handler returns 201 for every event. */
  file: string
  /** Its environment, in addition to the common one below. */
  environment: Record<string, string>
  /** Returns a new event each time, so no call is a replay. */
  event(): unknown | Promise<unknown>
}

interface Effort {
  /** New processes of each function for init and first request. */
  starts: number
  /** Rounds of warm calls, each in a new process. */
  rounds: number
  warmUpCalls: number
  calls: number
}

interface Figures {
  bytes: number
  initMs: number
  firstRequestMs: number
  initAndFirstRequestMs: number
  /** CPU time of both, which other load on the machine affects less than wall time. */
  coldCpuMs: number
  cpuMsPerCall: number
  p50Ms: number
  p95Ms: number
}

/** The service, the reference, and a function that does only what none can save. */
const sides = ['ours', 'reference', 'nodeAlone'] as const
type Sides<Value> = Record<(typeof sides)[number], Value>
type Comparison = Sides<Figures>

interface Run {
  initMs: number
  firstRequestMs: number
  coldCpuMs: number
  latenciesMs: number[]
  cpuMsPerCall: number
}

const runner = join(import.meta.dirname, 'run-function.mjs')
const usualEffort: Effort = { starts: 15, rounds: 4, warmUpCalls: 50, calls: 150 }

/**
 * Measures the functions turn by turn in one run, so noise affects all of them. Figures are medians. Only their ratios are
 * comparable between machines.
 */
export async function compare(
  subjects: Sides<Subject>,
  endpoint: string,
  effort: Effort = usualEffort,
): Promise<Comparison> {
  const runs = (): Sides<Run[]> => ({ ours: [], reference: [], nodeAlone: [] })
  const [cold, warm] = [runs(), runs()]
  for (let start = 0; start < effort.starts; start++) {
    for (const side of sides) cold[side].push(await run(subjects[side], endpoint, 0, 0))
  }
  for (let round = 0; round < effort.rounds; round++) {
    for (const side of sides) {
      warm[side].push(await run(subjects[side], endpoint, effort.warmUpCalls, effort.calls))
    }
  }
  const figures = sides.map(async (side) => [side, await summarise(subjects[side], cold[side], warm[side])])
  return Object.fromEntries(await Promise.all(figures))
}

/**
 * Returns the comparison as a Markdown table. A ratio to the reference below 1 is smaller or faster. The last column is
 * the ratio without what Node alone takes.
 */
export function asMarkdown({ ours, reference, nodeAlone }: Comparison): string {
  const rows: [string, keyof Figures, (value: number) => string][] = [
    ['Bundle, KB', 'bytes', (value) => (value / 1000).toFixed(0)],
    ['Init, ms', 'initMs', (value) => value.toFixed(1)],
    ['First request, ms', 'firstRequestMs', (value) => value.toFixed(1)],
    ['Init and first request, ms', 'initAndFirstRequestMs', (value) => value.toFixed(1)],
    ['CPU of init and first request, ms', 'coldCpuMs', (value) => value.toFixed(1)],
    ['CPU per warm call, ms', 'cpuMsPerCall', (value) => value.toFixed(2)],
    ['Warm call p50, ms', 'p50Ms', (value) => value.toFixed(1)],
    ['Warm call p95, ms', 'p95Ms', (value) => value.toFixed(1)],
  ]
  const lines = rows.map(([title, name, show]) => {
    const [a, b, least] = [ours[name], reference[name], nodeAlone[name]]
    const ratios = [a / b, (a - least) / (b - least)].map((ratio) => ratio.toFixed(2))
    return `| ${[title, show(a), show(b), ratios[0], show(least), ratios[1]].join(' | ')} |`
  })
  const head = ['| | Ours | Reference | Ratio | Node alone | Ratio without it |', '|---|---|---|---|---|---|']
  return [...head, ...lines, ''].join('\n')
}

/** A way of calling warm functions, with the functions by side. */
interface WarmWay {
  title: string
  subjects: Record<WarmSide, Subject>
  calls: number
}
type WarmSide = 'ours' | 'reference' | 'oneTransaction'
const warmSides: readonly WarmSide[] = ['ours', 'reference', 'oneTransaction']
/** CPU of a warm call, in milliseconds. */
type WarmRow = { title: string } & Record<WarmSide, number>

/** Measures the CPU of warm calls, turn by turn. Figures are medians of rounds in processes of their own. */
export async function compareWarm(
  ways: readonly WarmWay[],
  endpoint: string,
  { rounds, warmUpCalls } = usualEffort,
): Promise<WarmRow[]> {
  const measured = ways.map(
    () => ({ ours: [], reference: [], oneTransaction: [] }) as Record<WarmSide, number[]>,
  )
  for (let round = 0; round < rounds; round++)
    for (const [index, { subjects, calls }] of ways.entries())
      for (const side of warmSides) {
        const { cpuMsPerCall } = await run(subjects[side], endpoint, warmUpCalls, calls)
        measured[index]?.[side].push(cpuMsPerCall)
      }
  const medianOf = (side: WarmSide, index: number) => quantile(measured[index]?.[side] ?? [])
  return ways.map(({ title }, index) => ({
    title,
    ours: medianOf('ours', index),
    reference: medianOf('reference', index),
    oneTransaction: medianOf('oneTransaction', index),
  }))
}

export function warmAsMarkdown(rows: readonly WarmRow[]): string {
  const lines = rows.map(({ title, ours, reference, oneTransaction }) =>
    [
      title,
      ...[ours, reference, ours / reference, oneTransaction, ours / oneTransaction].map((one) =>
        one.toFixed(2),
      ),
    ].join(' | '),
  )
  return [
    '| CPU per warm call, ms | Ours | Reference | Ratio | With one transaction | Ratio |',
    '|---|---|---|---|---|---|',
    ...lines.map((line) => `| ${line} |`),
    '',
  ].join('\n')
}

async function summarise({ file }: Subject, cold: Run[], warm: Run[]): Promise<Figures> {
  const latencies = warm.flatMap(({ latenciesMs }) => latenciesMs)
  return {
    bytes: (await stat(file)).size,
    initMs: quantile(cold.map(({ initMs }) => initMs)),
    firstRequestMs: quantile(cold.map(({ firstRequestMs }) => firstRequestMs)),
    initAndFirstRequestMs: quantile(cold.map(({ initMs, firstRequestMs }) => initMs + firstRequestMs)),
    coldCpuMs: quantile(cold.map(({ coldCpuMs }) => coldCpuMs)),
    cpuMsPerCall: quantile(warm.map(({ cpuMsPerCall }) => cpuMsPerCall)),
    p50Ms: quantile(latencies),
    p95Ms: quantile(latencies, 0.95),
  }
}

async function run(subject: Subject, endpoint: string, warmUpCalls: number, calls: number): Promise<Run> {
  const scratch = await mkdtemp(join(tmpdir(), 'bench-'))
  try {
    const events = join(scratch, 'events.json')
    const sent = Array.from({ length: 1 + warmUpCalls + calls }, () => subject.event())
    await writeFile(events, JSON.stringify(await Promise.all(sent)))
    const args = [runner, pathToFileURL(subject.file).href, events, String(warmUpCalls)]
    // The log is discarded, because the terminal's speed would be measured too.
    const child = spawn(process.execPath, args, {
      env: { ...lambdaEnvironment(endpoint), ...subject.environment },
      stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
    })
    const [figures, [code]] = await Promise.all([
      json(child.stdio[3] as NodeJS.ReadableStream).catch(() => undefined),
      once(child, 'exit'),
    ])
    if (code !== 0 || !figures) throw new Error(`${subject.file} could not be measured (exit code ${code})`)
    return figures as Run
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

/** The environment variables of Lambda that functions, SDK and Powertools read. */
export function lambdaEnvironment(endpoint: string): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '',
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    AWS_ENDPOINT_URL_DYNAMODB: endpoint,
    AWS_LAMBDA_FUNCTION_NAME: 'bench',
    AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
    AWS_LAMBDA_FUNCTION_MEMORY_SIZE: '1024',
    AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x',
  }
}

function quantile(values: number[], share = 0.5): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}
