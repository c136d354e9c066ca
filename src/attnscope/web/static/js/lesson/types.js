// Shapes of a chapter: what the server sends for it, and what its module and the page expect of each other. No code.

/**
 * A chapter's own parameters in the address, everything but `chapter` and `theme`. They come from a link: any of them may
 * be missing or wrong, and then the default is meant.
 * @typedef {Record<string, string>} Parameters
 */
/** experiments: every experiment of the section by name, as its to_dict gives it. @typedef {{number: number, title: string, says: string, experiments: Record<string, any>}} Chapter */
/** @typedef {{map: import("../pure/colour.js").ColourMap, page: number, dark: boolean}} Look page: packed pixel */
/**
 * What the page does for a chapter.
 *   change  writes parameters into the address (null takes one out) and calls update; moves of one `kind` that follow one another quickly are one step back
 *   say     announces a sentence politely to a screen reader
 *   look    the theme's colours
 *   live    whether a server is there: false in the exported file
 * @typedef {{change: (patch: Record<string, string|null>, kind: string) => void, say: (sentence: string) => void, look: () => Look, live: boolean}} On
 */
/**
 * What a chapter does for the page. update also follows a change of theme; key gets what is not typed into a field and not
 * meant for the control that has the focus, and says whether it did anything with it; keys are what the dialog "Keys" lists; leave is
 * called when another chapter is opened.
 * @typedef {{update: (state: Parameters) => void, destroy: () => void, leave?: () => void, key?: (event: KeyboardEvent) => boolean, keys?: import("../pure/keyboard.js").KeyList}} View
 */
/** @typedef {{mount: (el: HTMLElement, data: Chapter, on: On) => View}} Module */

export {}
