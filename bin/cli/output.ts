import { createInterface } from 'node:readline/promises'
import { styleText } from 'node:util'
import { unseenCharacter } from '#shared/platform/base/failure.ts'
import { UsageError } from './options.ts'

/**
 * Prints rows: a table on a terminal, JSON lines if the output is piped.
 * @param columns the fields of the table; all if empty
 */
export async function printRows(
  rows: AsyncIterable<object> | Iterable<object>,
  ...columns: string[]
): Promise<void> {
  if (process.stdout.isTTY) {
    const all: object[] = []
    for await (const row of rows) all.push(row)
    console.log(all.length === 0 ? styleText('dim', 'There are none.') : tableText(all, columns))
  } else for await (const row of rows) printJson(row)
}

/**
 * Prints an object: a line for each field on a terminal, with lists of objects as tables below; one JSON line if the
 * output is piped.
 */
export function printFields(printed: object): void {
  if (!process.stdout.isTTY) {
    printJson(printed)
    return
  }
  const fields = Object.entries(printed)
  const lists = fields.filter(([, value]) => Array.isArray(value) && typeof value[0] === 'object')
  console.log(listOf(Object.fromEntries(fields.filter((field) => !lists.includes(field)))))
  for (const [name, list] of lists) console.log(`\n${name}\n${tableText(list)}`)
}

/** Prints a row as it happens: some fields on one line of a terminal, one JSON line if the output is piped. */
export function printLine(row: object, ...columns: string[]): void {
  const fields = new Map(Object.entries(row))
  const line = columns.map((name) => printableText(fields.get(name))).join('  ')
  if (process.stdout.isTTY) console.log(line)
  else printJson(row)
}

/** Prints an object as one JSON line, also on a terminal. */
export function printJson(printed: object): void {
  console.log(jsonOf(printed))
}

/** Returns objects as a table, or as one list of fields for each if the table is wider than the terminal. */
function tableText(objects: readonly object[], columns: readonly string[] = []): string {
  const names = columns.length > 0 ? columns : [...new Set(objects.flatMap((one) => Object.keys(one)))]
  const rows = objects.map((one) => new Map(Object.entries(one)))
  const cells = [names, ...rows.map((row) => names.map((name) => printableText(row.get(name))))]
  const widths = names.map((_, at) => Math.max(...cells.map((row) => row[at]?.length ?? 0)))
  if (widths.reduce((sum, width) => sum + width + 2, 0) > (process.stdout.columns || 80))
    return objects.map(listOf).join('\n\n')
  const [head = '', ...lines] = cells.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  return [styleText('bold', head), ...lines].join('\n')
}

function listOf(one: object): string {
  const width = Math.max(...Object.keys(one).map((name) => name.length))
  return Object.entries(one)
    .map(([name, value]) => `${styleText('dim', name.padEnd(width))}  ${printableText(value)}`)
    .join('\n')
}

/** Returns a value without control characters, which could change the terminal, and with other unseen ones escapeUnseen. */
export function printableText(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return escapeUnseen(text.replace(/\p{Cc}/gu, ' '))
}

function jsonOf(one: object): string {
  return escapeUnseen(JSON.stringify(one))
}

/** Escapes the characters that could show another text than there is. In JSON this changes no value. */
function escapeUnseen(text: string): string {
  return text.replace(RegExp(unseenCharacter, 'gu'), (character) =>
    character.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  )
}

/** Reports how far long work is: a text, and the share that is done, from 0 to 1, if it is known. */
export type Report = (text: string, share?: number) => void

/** Runs long work. Its latest report and its duration are shown on standard error, if that is a terminal. */
export async function withProgress<T>(work: (report: Report) => Promise<T>): Promise<T> {
  if (!process.stderr.isTTY) return work(() => {})
  const started = Date.now()
  let line = ''
  const draw = () => {
    const seconds = Math.floor((Date.now() - started) / 1000)
    process.stderr.write(`\r\x1b[K${line}  ${seconds} s`)
  }
  const timer = setInterval(draw, 1000)
  try {
    return await work((text, share) => {
      line = share === undefined ? text : `${barOf(share)}  ${text}`
      draw()
    })
  } finally {
    clearInterval(timer)
    process.stderr.write('\r\x1b[K')
  }
}

function barOf(share: number): string {
  const bar = '█'.repeat(Math.round(share * 30)).padEnd(30, '░')
  return `${bar} ${String(Math.floor(share * 100)).padStart(3)} %`
}

/** @throws UsageError if a question needs an answer and nobody can be asked */
export function assertCanAsk(question: string, yes: boolean | undefined): void {
  if (!yes && !process.stdin.isTTY) throw new UsageError(`${question} Confirm with --yes.`)
}

/**
 * Asks a person at a terminal before a destructive command.
 * @param yes whether the command line has confirmed it
 * @throws UsageError if nobody can be asked; Error for any answer but yes
 */
export async function confirm(question: string, yes: boolean | undefined): Promise<void> {
  if (yes) return
  assertCanAsk(question, yes)
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await terminal.question(`${question} [y/N] `).finally(() => terminal.close())
  if (!/^y(es)?$/i.test(answer.trim())) throw new Error('canceled, nothing was changed')
}
