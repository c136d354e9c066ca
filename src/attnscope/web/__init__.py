"""The app: a local web server whose page shows the attention of a model on the reader's own text.

The server: serving, app and gate; worker, runs and jobs do what pages ask for; each set of routes has a
module (routes, heads, comparing, maps, knocking, measuring, lesson, saving). alone makes pages for files.

The pages, in static: a page is NAME.html, its style css/NAME.css, its code js/pages/NAME.js.
    js/pages          one module a page, and what pages share (frame, base, page, looking, surveyed)
    js/views, js/kit  what is drawn: mount(el, on) gives update(data); kit is for the lesson's chapters
    js/chapters       the chapters of the lesson, each loaded when it is first shown; js/lesson feeds them
    js/pure           what needs no document, and is tested under node
    js                what stands between server, browser and page: api, jobs, numbers, the address
"""
