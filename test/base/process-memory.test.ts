import { expect, test } from '@jest/globals'
import { processMemory } from '#shared/platform/base/cached-load.ts'
import { movableClock } from '#test/support/clocks.ts'

test('a value is loaded once in 30 seconds, whatever else is remembered', async () => {
  const clock = movableClock(0)
  const remember = processMemory(clock)
  const loads: string[] = []
  const ask = (name: string) => remember(name, async () => loads.push(name))
  await ask('a')
  clock.advance(15_000)
  for (const name of ['a', 'b']) await ask(name)
  expect(loads).toEqual(['a', 'b'])
  clock.advance(15_000)
  for (const name of ['a', 'b']) await ask(name)
  expect(loads).toEqual(['a', 'b', 'a'])
  clock.advance(15_000)
  for (const name of ['a', 'b']) await ask(name)
  expect(loads).toEqual(['a', 'b', 'a', 'b'])
})

test('the age of a value counts from the start of its load', async () => {
  const clock = movableClock(0)
  const remember = processMemory(clock)
  const load = async () => {
    clock.advance(20_000)
    return clock.now()
  }
  expect(await remember('slow', load)).toBe(20_000)
  clock.advance(10_000)
  expect(await remember('slow', load)).toBe(50_000)
})

test('a load that fails is not remembered', async () => {
  const remember = processMemory(movableClock(0))
  await expect(remember('a', () => Promise.reject(new Error('down')))).rejects.toThrow('down')
  expect(await remember('a', async () => 1)).toBe(1)
})
