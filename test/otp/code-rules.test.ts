import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { runs, runsAll } from '#test/support/runs.ts'
import { localSettings } from '#test/support/settings.ts'
import { ObservedCodes, type Source, type Step } from './observed-codes.ts'

const settings = {
  ...localSettings,
  'otp.dailyWrongAttempts': { limit: 1000, knownSourceDays: 90 },
  'otp.mailsPerAddress': { limit: 100, windowSeconds: 300 },
}
const sources: Source[] = ['A', 'B', 'K']
const request = (by: Source): Step => ({ is: 'request', by })
const wait = (count: number): Step => ({ is: 'minutes', count })
const wrong = (by: Source, times: number): Step => ({ is: 'wrong', by, times })
const strangers = (times: number): Step => ({ is: 'strangers', times })

const steps: Step[] = [
  ...sources.map(request),
  ...sources.map((by): Step => ({ is: 'right', by, of: by })),
  { is: 'right', by: 'B', of: 'A' },
  wrong('A', 5),
  wrong('K', 5),
  strangers(49),
  { is: 'known', times: 50 },
  wait(1),
  wait(4),
]
const starts: Record<string, Step[]> = {
  'no code': [],
  'a code of two sources after ten minutes': [
    ...[request('A'), wait(4), request('B'), wait(4), request('A'), wait(2)],
  ],
  'a code of three sources after nearly ten minutes': [
    ...[request('A'), wait(5), request('B'), request('K'), wait(4), request('B')],
  ],
  'a code that is spent for unknown sources': [request('A'), request('K'), strangers(49)],
}

/** Takes every sequence of steps. @returns the number of sequences, and the first that breaks a promise */
function explore(codes: ObservedCodes, depth: number): { count: number; broken?: string } {
  if (depth === 0) return { count: 1 }
  let count = 0
  for (const step of steps) {
    const next = codes.copy()
    const broken = next.take(step)
    if (broken) return { count, broken: `${JSON.stringify(step)}: ${broken}` }
    const after = explore(next, depth - 1)
    count += after.count
    if (after.broken) return { count, broken: `${JSON.stringify(step)} ${after.broken}` }
  }
  return { count }
}

describe('no sequence of calls by known and unknown sources breaks a promise', () => {
  const depth = runsAll ? 4 : 3

  test.each(Object.keys(starts))(`from %s, in ${depth} steps`, (name) => {
    const codes = new ObservedCodes(settings)
    const broken = (starts[name] ?? []).map((step) => codes.take(step))
    expect(broken.filter((one) => one !== undefined)).toEqual([])
    expect(explore(codes, depth)).toEqual({ count: steps.length ** depth })
  })

  const source = fc.constantFrom(...sources)
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 4, arbitrary: fc.record({ is: fc.constant('request'), by: source }) },
    fc.record({ is: fc.constant('right'), by: source, of: source }),
    fc.record({ is: fc.constant('wrong'), by: source, times: fc.integer({ min: 1, max: 6 }) }),
    fc.record({ is: fc.constant('strangers'), times: fc.integer({ min: 1, max: 60 }) }),
    fc.record({ is: fc.constant('known'), times: fc.integer({ min: 1, max: 60 }) }),
    {
      weight: 4,
      arbitrary: fc.record({ is: fc.constant('minutes'), count: fc.integer({ min: 1, max: 6 }) }),
    },
  ) as fc.Arbitrary<Step>
  const sequence = fc.array(step, { minLength: 10, maxLength: 40 })

  test('in long sequences', () => {
    fc.assert(
      fc.property(sequence, (steps) => {
        const codes = new ObservedCodes(settings)
        for (const step of steps) expect(codes.take(step)).toBeUndefined()
      }),
      runs(2000),
    )
  })

  test('with few mails for unknown sources', () => {
    const few = { ...settings, 'otp.mailsPerAddress': { limit: 3, windowSeconds: 300 } }
    fc.assert(
      fc.property(sequence, (steps) => {
        const codes = new ObservedCodes(few)
        for (const step of steps) expect(codes.take(step)).toBeUndefined()
      }),
      runs(2000),
    )
  })
})
