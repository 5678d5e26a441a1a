import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'

/** One of the two compared functions. Both get the same machine, DynamoDB and number of calls. */
export interface Subject {
  /** The bundle's index.mjs. Its handler returns 201 for every event. */
  file: string
  /** Its environment, in addition to the common one below. */
  environment: Record<string, string>
  /** Returns a new event each time, so no call is a replay. */
  event(): unknown
}

export interface Effort {
  /** Pairs of new processes for init and first request. */
  pairs: number
  /** Rounds of warm calls, each in a new process. */
  rounds: number
  warmUpCalls: number
  calls: number
}

export interface Figures {
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

export interface Comparison {
  ours: Figures
  reference: Figures
  /** The ratio to the reference: below 1 is smaller or faster. */
  ratios: Figures
}

interface Run {
  initMs: number
  firstRequestMs: number
  coldCpuMs: number
  latenciesMs: number[]
  cpuMsPerCall: number
}

const runner = join(import.meta.dirname, 'run-function.mjs')
export const usualEffort: Effort = { pairs: 15, rounds: 4, warmUpCalls: 50, calls: 150 }

/**
 * Measures both functions alternately in one run, so noise affects both equally. Figures are medians. Only their ratios
 * are comparable between machines.
 */
export async function compare(
  ours: Subject,
  reference: Subject,
  endpoint: string,
  effort: Effort = usualEffort,
): Promise<Comparison> {
  const cold = { ours: [] as Run[], reference: [] as Run[] }
  const warm = { ours: [] as Run[], reference: [] as Run[] }
  for (let pair = 0; pair < effort.pairs; pair++) {
    cold.ours.push(await run(ours, endpoint, 0, 0))
    cold.reference.push(await run(reference, endpoint, 0, 0))
  }
  for (let round = 0; round < effort.rounds; round++) {
    warm.ours.push(await run(ours, endpoint, effort.warmUpCalls, effort.calls))
    warm.reference.push(await run(reference, endpoint, effort.warmUpCalls, effort.calls))
  }
  const figures = {
    ours: await summarise(ours, cold.ours, warm.ours),
    reference: await summarise(reference, cold.reference, warm.reference),
  }
  const ratio = (name: keyof Figures) => figures.ours[name] / figures.reference[name]
  const names = Object.keys(figures.ours) as (keyof Figures)[]
  return {
    ...figures,
    ratios: Object.fromEntries(names.map((name) => [name, ratio(name)])) as unknown as Figures,
  }
}

/** Returns the comparison as a Markdown table. */
export function asMarkdown({ ours, reference, ratios }: Comparison): string {
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
    return `| ${title} | ${show(ours[name])} | ${show(reference[name])} | ${ratios[name].toFixed(2)} |`
  })
  return ['| | Ours | Reference | Ratio |', '|---|---|---|---|', ...lines, ''].join('\n')
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
    await writeFile(
      events,
      JSON.stringify(Array.from({ length: 1 + warmUpCalls + calls }, () => subject.event())),
    )
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
