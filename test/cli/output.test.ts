import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { compileCache } from '#test/support/compile-cache.ts'
import { inTerminal } from '#test/support/terminal.ts'

const program = join(import.meta.dirname, 'print-sample.ts')
const piped = (sample: string) =>
  execFileSync(process.execPath, [program, sample], {
    env: { ...compileCache, PATH: process.env.PATH },
    encoding: 'utf8',
  })
const onTerminal = (sample: string, { env, ...options }: Parameters<typeof inTerminal>[1] = {}) =>
  inTerminal(`${process.execPath} ${program} ${sample}`, { ...options, env: { ...compileCache, ...env } })
const bold = (text: string) => `\u001b[1m${text}\u001b[22m`
const dim = (text: string) => `\u001b[2m${text}\u001b[22m`

describe('records', () => {
  test('are JSON lines when piped', () => {
    expect(piped('records')).toBe(
      '{"id":"a","at":"2026-01-31","after":{"role":"Admin"}}\n{"id":"bc","at":"2026-02-01"}\n',
    )
  })

  test('are a table on a terminal, with a bold head', async () => {
    const { screen } = await onTerminal('records')
    expect(screen).toBe(
      `${bold('id  at          after')}\na   2026-01-31  {"role":"Admin"}\nbc  2026-02-01\n`,
    )
  })

  test('show some fields on a terminal', async () => {
    const { screen } = await onTerminal('columns', { env: { NO_COLOR: '1' } })
    expect(screen).toBe('at          id\n2026-01-31  a\n2026-02-01  bc\n')
  })

  test('have all fields when piped', () => {
    expect(piped('columns')).toBe(piped('records'))
  })

  test('have no colors with NO_COLOR', async () => {
    const { screen } = await onTerminal('records', { env: { NO_COLOR: '1' } })
    expect(screen.split('\n')[0]).toBe('id  at          after')
  })

  test('that are wider than the terminal are lists of fields', async () => {
    const { screen } = await onTerminal('wide')
    expect(screen.split('\n').slice(0, 3)).toEqual([
      `${dim('id   ')}  a`,
      `${dim('at   ')}  2026-01-31`,
      `${dim('after')}  {"role":"Admin"}`,
    ])
  })

  test('cannot change the terminal', async () => {
    expect((await onTerminal('escape')).screen).toContain('\n [31mred\n')
  })

  test('show unseen characters by their escapes, which change no value when piped', async () => {
    const escapes = 'a\\u202eb\\u200dc\\udb40\\udc41'
    expect((await onTerminal('unseen')).screen).toContain(`\n${escapes}\n`)
    expect(piped('unseen')).toBe(`{"text":"${escapes}"}\n`)
    expect(JSON.parse(piped('unseen'))).toEqual({ text: 'a\u202eb\u200dc\u{e0041}' })
  })

  test('as JSON show them by their escapes, also on a terminal', async () => {
    const line = '{"text":"\\u001b[31ma\\u202eb\\u009bc"}\n'
    expect([piped('json'), (await onTerminal('json')).screen]).toEqual([line, line])
  })

  test('print nothing when piped if there are none', () => {
    expect(piped('none')).toBe('')
  })

  test('are said to be none on a terminal', async () => {
    expect((await onTerminal('none')).screen.trim()).not.toBe('')
  })
})

describe('a record', () => {
  test('is one JSON line when piped', () => {
    expect(piped('record')).toBe('{"outcome":"PARTIAL","rejects":[{"row":2,"code":"VALIDATION.email"}]}\n')
  })

  test('on a terminal has its lists as tables', async () => {
    const { screen } = await onTerminal('record', { env: { NO_COLOR: '1' } })
    expect(screen).toBe('outcome  PARTIAL\n\nrejects\nrow  code\n2    VALIDATION.email\n')
  })
})

describe('a confirmation', () => {
  test.each(['y', 'yes', 'Y'])('is given by %s', async (answer) => {
    const { code, screen } = await onTerminal('confirm', { input: `${answer}\n` })
    expect({ code, last: screen.trim().split('\n').at(-1) }).toEqual({ code: 0, last: 'deleted' })
  })

  test.each(['n', '', 'yesterday'])("is not given by '%s'", async (answer) => {
    const { code, screen } = await onTerminal('confirm', { input: `${answer}\n` })
    expect({ code, last: screen.trim().split('\n').at(-1) }).toEqual({
      code: 1,
      last: expect.stringContaining('canceled'),
    })
  })
})

describe('progress', () => {
  test('is a bar on a terminal', async () => {
    expect((await onTerminal('progress')).screen).toContain(
      `${'█'.repeat(15)}${'░'.repeat(15)}  50 %  running  0 s`,
    )
  })

  test('is not shown when piped', () => {
    expect(piped('progress')).toBe('done\n')
  })
})
