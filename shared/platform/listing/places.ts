import { type Bounds, beside as besideId, largestId, smallestId } from './ids.ts'

/**
 * Places are the sort keys in the order of a SortIndex: the value, # and the id. Every character of a value is above #,
 * so places sort by value, then by id. The key of an entry is its place, or the value alone, which sorts right before
 * all places of that value. An item keeps its place when its entry changes between the two keys.
 */

/** Returns the value in a place or in the key of an entry. */
export function valueIn(key: string): string {
  const [value = ''] = key.split('#')
  return value
}

export function placeOf(key: string, id: string): string {
  return `${valueIn(key)}#${id}`
}

/** Returns the adjacent place, whether or not an item has it. */
export function beside(place: string, steps: 1 | -1): string {
  const value = valueIn(place)
  return `${value}#${besideId(place.slice(value.length + 1), steps)}`
}

/** Returns the range of all places of one value. */
export function placesOf(value: string): Bounds {
  return { low: `${value}#${smallestId}`, high: `${value}#${largestId}` }
}

/** The range of the places of all possible values. */
export const allPlaces: Bounds = { low: placesOf('$').low, high: placesOf('\u007f').high }
